-- The node made at capture behind each node of an executable graph.
-- Instantiation clones nodes, and may clone clones: follow `origin` to its end.
-- A node may have several creation rows; those without an origin say nothing (DESIGN: nsys facts).
-- UNION (not ALL) drops repeated pairs, so a damaged file with a cycle still ends.
CREATE OR REPLACE TEMP TABLE _parent AS
SELECT process, node, max(origin) AS origin FROM graph_node WHERE origin IS NOT NULL AND origin <> node GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE _origin AS
WITH RECURSIVE walk AS (
    SELECT process, node, origin, 1 AS depth FROM _parent
    UNION
    SELECT w.process, w.node, p.origin, w.depth + 1
    FROM walk w JOIN _parent p ON p.process = w.process AND p.node = w.origin
    WHERE w.depth < 8
)
SELECT process, node, arg_max(origin, depth) AS origin FROM walk GROUP BY ALL;
