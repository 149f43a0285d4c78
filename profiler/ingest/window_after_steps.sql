-- Leave out ops launched once the step after the last one had begun.
-- A step more is recorded, since CUPTI gives the last launch of each graph the end of a later one.
-- ?: number of that step in _matching.
DELETE FROM op WHERE op_id IN (
    SELECT op_id FROM op
    JOIN (SELECT process, min(start_ns) AS at_ns FROM _matching WHERE number = ? GROUP BY process) closed USING (process)
    LEFT JOIN api a USING (process, correlation)
    WHERE coalesce(a.start_ns, op.start_ns) >= at_ns
);
