-- Leave out ops that were launched outside the chosen ranges, and the calls that launched them.
-- _chosen: process, thread, start_ns, end_ns of the ranges.
CREATE TEMP TABLE _kept AS
SELECT DISTINCT a.process, a.correlation FROM api a
JOIN _chosen r ON r.process = a.process AND r.thread = a.thread AND a.start_ns BETWEEN r.start_ns AND r.end_ns
WHERE a.correlation IS NOT NULL;

-- a launch without its ops would count as lost
DELETE FROM api WHERE rowid IN (
    SELECT api.rowid FROM api SEMI JOIN op USING (process, correlation) ANTI JOIN _kept USING (process, correlation)
);
DELETE FROM op WHERE op_id NOT IN (SELECT op_id FROM op SEMI JOIN _kept USING (process, correlation));
DROP TABLE _kept;
DROP TABLE _chosen;
