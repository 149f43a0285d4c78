-- One line for each expert of a call; a step whose calls used none has one without layer and expert.
-- Expert -1 stands for the experts of a call that are counted, but not named.
WITH call AS (
    FROM call_fact
    UNION ALL BY NAME
    SELECT NULL::INTEGER[] AS expert_numbers WHERE false  -- older runs lack this column
), used AS (
    SELECT DISTINCT step, layer, unnest(CASE
        WHEN coalesce(skipped OR experts = 0 OR rows = 0, false) THEN []
        ELSE coalesce(expert_numbers, [-1])
    END) AS expert
    FROM call
), step AS (
    SELECT step, max(class) AS class
    FROM (SELECT step, class FROM step_fact UNION ALL SELECT step, NULL FROM call_fact)
    GROUP BY step
)
SELECT class, step, layer, expert FROM step LEFT JOIN used USING (step) ORDER BY step, layer, expert
