-- Operators of the CPU as stand-ins for GPU ops, where a capture without a GPU asks for them.
-- _cpu_op: every operator of the trace, numbered; they nest on a thread. At each moment the innermost one counts,
-- so an operator that calls others has a piece before, between and after them, and no time counts twice.

-- order on the thread, the outer operator first
CREATE TEMP TABLE _ordered AS
SELECT *, row_number() OVER (PARTITION BY process, thread ORDER BY start_ns, end_ns DESC, number) AS n
FROM _cpu_op WHERE end_ns > start_ns;

-- starts and ends in order of time; at one moment ends come first, the inner ones before the outer
CREATE TEMP TABLE _edge_of AS
SELECT process, thread, number, n, start_ns AS time_ns, 1 AS step, n AS rank FROM _ordered
UNION ALL
SELECT process, thread, number, n, end_ns, -1, -n FROM _ordered;

CREATE TEMP TABLE _depth AS
FROM (
    SELECT process, thread, number, n, step, sum(step) OVER (PARTITION BY process, thread ORDER BY time_ns, step, rank) AS depth
    FROM _edge_of
) SELECT process, thread, number, n, depth WHERE step = 1;

-- the operator that called each
CREATE TEMP TABLE _caller_op AS
SELECT d.number, c.number AS caller
FROM _depth d ASOF LEFT JOIN _depth c
    ON c.process = d.process AND c.thread = d.thread AND c.depth = d.depth - 1 AND c.n < d.n;

-- from each start on the operator itself runs, from each end on its caller
CREATE TEMP TABLE _piece AS
FROM (
    SELECT e.process, e.thread, CASE WHEN step = 1 THEN e.number ELSE c.caller END AS owner, time_ns AS start_ns,
        lead(time_ns) OVER (PARTITION BY e.process, e.thread ORDER BY time_ns, step, rank) AS end_ns
    FROM _edge_of e JOIN _caller_op c USING (number)
) SELECT process, thread, owner, start_ns, end_ns WHERE owner IS NOT NULL AND end_ns > start_ns;

-- the call that labels find the ranges by is the operator itself
INSERT INTO api BY NAME SELECT process, thread, number AS correlation, start_ns, end_ns, name_id FROM _cpu_op;
INSERT INTO op BY NAME
SELECT row_number() OVER () - 1 AS op_id, 'kernel' AS activity, p.process, 0 AS device, p.thread AS stream,
    p.owner AS correlation, p.start_ns, p.end_ns, o.name_id
FROM (
    FROM _piece
    UNION ALL
    SELECT process, thread, number, start_ns, end_ns FROM _cpu_op WHERE end_ns = start_ns
) p JOIN _cpu_op o ON o.number = p.owner;
INSERT INTO device BY NAME SELECT 0 AS device, 'CPU' AS name WHERE EXISTS (FROM op);
