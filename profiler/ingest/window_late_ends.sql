-- Count ops of graph nodes that end after the next op of the same node has begun, as warning window_late_ends.
-- That cannot be: CUPTI gave them the end of a later replay, as where the program runs more than a step ahead of the GPU.
INSERT INTO warning SELECT 'window_late_ends', count(*), count(*) || ' graph ops end after their node ran again, so their '
    || 'durations are wrong: leave out the last steps with --steps, or record without a window.'
FROM (
    SELECT end_ns, lead(start_ns) OVER (PARTITION BY process, graph_node ORDER BY start_ns) AS next_ns
    FROM op WHERE graph_node IS NOT NULL
)
WHERE end_ns > next_ns HAVING count(*) > 0;
