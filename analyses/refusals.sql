-- Launch calls whose ops are missing: captured into a graph, hidden, or lost.

-- stream captures of each thread, begin to end
CREATE OR REPLACE TEMP TABLE _capture AS
WITH edge AS (
    SELECT a.process, coalesce(a.thread, -1) AS thread, a.start_ns, a.end_ns, n.text LIKE '%BeginCapture%' AS begins
    FROM api a JOIN name n USING (name_id)
    WHERE n.text SIMILAR TO '(cuda|cu|hip)Stream(Begin|End)Capture.*'
)
SELECT b.process, b.thread, b.start_ns, e.end_ns
FROM (FROM edge WHERE begins) b ASOF JOIN (FROM edge WHERE NOT begins) e
    ON b.process = e.process AND b.thread = e.thread AND b.start_ns <= e.start_ns;

-- launches without any op; `captured` where the thread was capturing, so no op was due
CREATE OR REPLACE TEMP TABLE _bare_launch AS
WITH launch AS (
    SELECT a.process, coalesce(a.thread, -1) AS thread, a.start_ns, n.text SIMILAR TO '(cuda|cu|hip)GraphLaunch.*' AS graph
    FROM api a JOIN name n USING (name_id)
    ANTI JOIN op ON op.process = a.process AND op.correlation = a.correlation
    WHERE a.correlation IS NOT NULL
        AND n.text SIMILAR TO '(cuda|cu|hip)(Launch(Cooperative)?Kernel|ModuleLaunch|ExtLaunch|GraphLaunch).*'
)
SELECT l.*, coalesce(l.start_ns <= c.end_ns, false) AND NOT graph AS captured
FROM launch l ASOF LEFT JOIN _capture c
    ON l.process = c.process AND l.thread = c.thread AND l.start_ns >= c.start_ns;
