-- GPU rows carry no process: each op belongs to the API call with its correlation id.
-- Run where several processes made calls, or another one than was guessed (_host).
CREATE TEMP TABLE _caller AS
SELECT correlation, min(process) AS process, count(DISTINCT process) AS processes
FROM api WHERE correlation > 0 GROUP BY correlation;
UPDATE op SET process = _host.process FROM _host
WHERE op.process <> _host.process AND (SELECT count(DISTINCT process) FROM api) = 1;
UPDATE op SET process = c.process FROM _caller c WHERE c.correlation = op.correlation AND op.process <> c.process;
INSERT INTO warning
SELECT 'correlation_shared', count(*),
    count(*) || ' ops have a correlation id that several processes used; they count for the one with the smallest pid.'
FROM op JOIN _caller c USING (correlation) WHERE c.processes > 1 HAVING count(*) > 0;
