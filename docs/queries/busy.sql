-- Seconds that each process had on the graphics and compute engines of each GPU, by day. pid is NULL for time of which the
-- process is unknown.
SELECT g.day, g.machine, g.gpu, g.pid, g.process, g.user AS user_name, g.pod,
  SUM(g.end_ns - g.start_ns) / 1e9 AS seconds
FROM gpulens g
WHERE g.state = 'on' AND g.engine LIKE 'GR_'
GROUP BY g.day, g.machine, g.gpu, g.pid, g.process, g.user, g.pod
ORDER BY g.day, g.machine, g.gpu, seconds DESC, g.pid;
