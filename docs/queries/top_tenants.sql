-- The 20 users or pods with the most time on graphics and compute engines of all machines, on how many machines and GPUs.
SELECT t.user_name, t.pod, COUNT(DISTINCT t.machine) AS machines, COUNT(*) AS gpus, SUM(t.seconds) AS gpu_seconds
FROM (
  SELECT g.machine, g.gpu, g.user AS user_name, g.pod, SUM(g.end_ns - g.start_ns) / 1e9 AS seconds
  FROM gpulens g
  WHERE g.state = 'on' AND g.engine LIKE 'GR_'
  GROUP BY g.machine, g.gpu, g.user, g.pod
) t
GROUP BY t.user_name, t.pod
ORDER BY gpu_seconds DESC
LIMIT 20;
