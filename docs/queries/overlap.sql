-- Seconds in which two TSGs were on engines of one GPU at the same time. A TSG is known by its runlist and its id.
SELECT a.day, a.machine, a.gpu, a.runlist AS runlist_a, a.tsg AS tsg_a, b.runlist AS runlist_b, b.tsg AS tsg_b,
  SUM(CASE WHEN a.end_unix_ns < b.end_unix_ns THEN a.end_unix_ns ELSE b.end_unix_ns END
    - CASE WHEN a.start_unix_ns > b.start_unix_ns THEN a.start_unix_ns ELSE b.start_unix_ns END) / 1e9 AS seconds
FROM gpulens a
JOIN gpulens b ON a.day = b.day AND a.machine = b.machine AND a.gpu = b.gpu
WHERE a.state = 'on' AND b.state = 'on'
  AND (a.runlist < b.runlist OR (a.runlist = b.runlist AND a.tsg < b.tsg))
  AND a.start_unix_ns < b.end_unix_ns AND b.start_unix_ns < a.end_unix_ns
GROUP BY a.day, a.machine, a.gpu, a.runlist, a.tsg, b.runlist, b.tsg
ORDER BY a.day, a.machine, a.gpu, seconds DESC;
