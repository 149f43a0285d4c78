-- Edges (a, b, kind) of an edge file -> graph_edge, ends resolved to capture-time nodes.
-- Edges seen at several instantiations are one edge.
-- Those of an earlier edge file, which name no process, make room.
DELETE FROM graph_edge WHERE process IS NULL AND source = 'recorded';
INSERT INTO graph_edge
SELECT DISTINCT NULL::INTEGER, coalesce(f.origin, e.a), coalesce(t.origin, e.b), e.kind, 'recorded', 1.0
FROM edges e
LEFT JOIN (SELECT node, any_value(origin) AS origin FROM _origin GROUP BY node) f ON f.node = e.a
LEFT JOIN (SELECT node, any_value(origin) AS origin FROM _origin GROUP BY node) t ON t.node = e.b;
