-- How many of each row a run holds; a graph launch is one replay of a CUDA graph.
SELECT activity::VARCHAR AS what, count(op_id) AS count
FROM (VALUES ('kernel'::activity), ('memcpy'), ('memset')) AS a (activity) LEFT JOIN op USING (activity) GROUP BY activity
UNION ALL SELECT 'api', count(*) FROM api
UNION ALL SELECT 'range', count(*) FROM range
UNION ALL SELECT 'graph_launch', count(*) FROM api JOIN name USING (name_id) WHERE text SIMILAR TO '(cuda|cu|hip)GraphLaunch.*';
