-- Ticks of the sampler that have no samples, and why: what was on the engines at these times is unknown.
SELECT g.day, g.machine, g.gpu, g.state AS reason, SUM(g.samples) AS ticks
FROM gpulens g
WHERE g.engine IS NULL
GROUP BY g.day, g.machine, g.gpu, g.state
ORDER BY g.day, g.machine, g.gpu, ticks DESC;
