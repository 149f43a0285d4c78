-- Ops with the launch that issued each, as analyses/ops.py reads them.

-- Ops that come and go; those of resident kernels stay (residents.py fills _resident).
CREATE OR REPLACE TEMP VIEW _passing AS FROM op ANTI JOIN _resident USING (op_id);

-- One row a (process, correlation) of ops: the outermost API call that carries it.
-- A launch is `graph` where its call is a graph launch or its ops name graph nodes.
CREATE OR REPLACE TEMP TABLE _launch AS
WITH issued AS (
    SELECT process, correlation, bool_or(graph_node IS NOT NULL) AS has_nodes, min(start_ns) AS first_op_ns
    FROM _passing WHERE correlation IS NOT NULL GROUP BY ALL
),
call AS (
    SELECT a.process, a.correlation, min(a.start_ns) AS call_start_ns, max(a.end_ns) AS call_end_ns,
        arg_min(a.thread, a.start_ns) AS thread, arg_min(a.name_id, a.start_ns) AS name_id
    FROM api a SEMI JOIN issued USING (process, correlation) GROUP BY ALL
),
graph_launch AS (SELECT name_id FROM name WHERE text SIMILAR TO '(cuda|cu|hip)GraphLaunch.*')
SELECT row_number() OVER (ORDER BY coalesce(call_start_ns, first_op_ns), process, correlation) - 1 AS launch,
    process, correlation, call_start_ns, call_end_ns, coalesce(thread, -1) AS thread,
    has_nodes OR name_id IN (FROM graph_launch) IS TRUE AS graph
FROM issued LEFT JOIN call USING (process, correlation);

-- Streams as small ids.
CREATE OR REPLACE TEMP TABLE _stream AS
SELECT row_number() OVER (ORDER BY process, device, context, stream) - 1 AS stream_key, process, device, context, stream
FROM (SELECT DISTINCT process, device, context, stream FROM _passing);
