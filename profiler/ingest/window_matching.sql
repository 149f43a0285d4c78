-- The ranges that match an expression, numbered from 0 in each process.
-- ?: the expression. _matching: process, thread, start_ns, end_ns, inside, number (null inside another match).
CREATE TEMP TABLE _matching AS
WITH matching AS (
    SELECT process, thread, start_ns, end_ns,
        -- a match inside a match on the same thread is the same step, marked twice
        coalesce(start_ns < max(end_ns) OVER (
            PARTITION BY process, thread ORDER BY start_ns, end_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), false) AS inside
    FROM range JOIN name USING (name_id) WHERE regexp_matches(text, ?)
)
SELECT *, CASE WHEN NOT inside THEN row_number() OVER (PARTITION BY process, inside ORDER BY start_ns, end_ns DESC) - 1 END AS number
FROM matching;
