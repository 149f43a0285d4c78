-- Leave out the last launch of each graph that the end of a window of time cut.
-- A process that launches graphs without ops later was cut: CUPTI gives the last launch before the end of a later one.
-- Counted as warning window_cut.
CREATE TEMP TABLE _cut AS
WITH without AS (
    SELECT process, max(start_ns) AS at_ns FROM api JOIN name USING (name_id) ANTI JOIN op USING (process, correlation)
    WHERE regexp_matches(text, '^cu(da)?GraphLaunch') GROUP BY process
)
SELECT DISTINCT process, arg_max(correlation, start_ns) AS correlation
FROM op JOIN without USING (process) WHERE graph_node IS NOT NULL AND start_ns < at_ns
GROUP BY process, graph_node;

INSERT INTO warning SELECT 'window_cut', count(*), count(*) || ' graph launches at the end of the window are left out: '
    || 'when recording ends between replays, CUPTI does not tell when the last one ended.'
FROM _cut HAVING count(*) > 0;
DELETE FROM op WHERE op_id IN (SELECT op_id FROM op SEMI JOIN _cut USING (process, correlation));
DROP TABLE _cut;
