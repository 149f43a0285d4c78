-- Record files, second part: ops, calls, ranges, edges, events, and what was lost.

INSERT INTO op
SELECT row_number() OVER (), 'kernel', k.process, coalesce(d.device, k.device), context, stream, correlation, start_ns, end_ns,
    coalesce(n.name_id, (SELECT name_id FROM _name WHERE text = '[no name]')), nullif(graph, 0), nullif(k.node, 0),
    coalesce(o.origin, nullif(k.node, 0)), launch, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, shared,
    NULL, NULL, NULL, NULL
FROM raw_kernel k
LEFT JOIN _device d ON d.process = k.process AND d.cuda_id = k.device
LEFT JOIN _named n ON n.process = k.process AND n.id = k.name
LEFT JOIN _origin o ON o.process = k.process AND o.node = k.node;

-- activity 1 is a copy, 2 a memset
INSERT INTO op
SELECT row_number() OVER () + (SELECT count(*) FROM raw_kernel), CASE WHEN activity = 2 THEN 'memset' ELSE 'memcpy' END::activity,
    c.process, coalesce(d.device, c.device), context, stream, correlation, start_ns, end_ns,
    CASE WHEN activity = 2 THEN -100 WHEN copy_kind BETWEEN 1 AND 10 THEN -copy_kind ELSE -99 END,
    nullif(graph, 0), nullif(c.node, 0), coalesce(o.origin, nullif(c.node, 0)), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    bytes, CASE WHEN activity = 1 THEN copy_kind END, coalesce(f.device, nullif(src_device, -1)), coalesce(t.device, nullif(dst_device, -1))
FROM raw_copy c
LEFT JOIN _device d ON d.process = c.process AND d.cuda_id = c.device
LEFT JOIN _device f ON f.process = c.process AND f.cuda_id = c.src_device
LEFT JOIN _device t ON t.process = c.process AND t.cuda_id = c.dst_device
LEFT JOIN _origin o ON o.process = c.process AND o.node = c.node;

INSERT INTO api
SELECT c.process, thread, correlation, start_ns, end_ns, n.name_id, result
FROM raw_call c JOIN _named n ON n.process = c.process AND n.id = c.name;

INSERT INTO range
SELECT row_number() OVER (), r.process, thread, end_thread, start_ns, end_ns,
    coalesce(n.name_id, (SELECT name_id FROM _name WHERE text = '')), d.text, nullif(category, 0), payload, nested, left_open
FROM raw_range r
LEFT JOIN _named n ON n.process = r.process AND n.id = r.text
LEFT JOIN _text d ON d.process = r.process AND d.id = r.domain;

INSERT INTO graph_edge
SELECT DISTINCT e.process, coalesce(f.origin, from_node), coalesce(t.origin, to_node),
    CASE WHEN edge_kind = 1 THEN 'programmatic' ELSE 'full' END, 'recorded', 1.0
FROM raw_edge e
LEFT JOIN _origin f ON f.process = e.process AND f.node = from_node
LEFT JOIN _origin t ON t.process = e.process AND t.node = to_node;

-- 4294967295 means that the field does not apply
INSERT INTO event_record
SELECT process, context, nullif(stream, 4294967295), event, nullif(sync_id, 0), correlation FROM raw_event;
INSERT INTO event_wait
SELECT process, context, nullif(stream, 4294967295), event, nullif(sync_id, 0), correlation FROM raw_sync WHERE type = 2;

-- 130001 is 13.0.1; before CUDA 13 the versions were small numbers
INSERT INTO run SELECT 'tool_version', 'CUPTI ' || CASE WHEN max(version) < 100000 THEN max(version)::VARCHAR
    ELSE concat_ws('.', max(version) // 10000, max(version) // 100 % 100, max(version) % 100) END
FROM raw_clock WHERE version > 0 HAVING count(*) > 0;
INSERT INTO manifest
SELECT 'dropped_records', coalesce(sum(count), 0)::VARCHAR FROM raw_loss
UNION ALL SELECT 'cupti_overhead_ns', coalesce(sum(end_ns - start_ns), 0)::VARCHAR FROM raw_overhead
UNION ALL SELECT 'processes', count(DISTINCT process)::VARCHAR FROM raw_clock;

INSERT INTO warning
SELECT 'records_dropped', sum(count), sum(count) || ' records were dropped ('
    || CASE WHEN bool_or(source = 0) THEN 'CUPTI ran out of buffers' ELSE 'the disk did not keep up' END
    || '): record fewer steps at once.'
FROM raw_loss HAVING sum(count) > 0;
INSERT INTO warning
SELECT c.text, count(*), any_value(t.text)
FROM raw_note n JOIN _text c ON c.process = n.process AND c.id = n.code JOIN _text t ON t.process = n.process AND t.id = n.text
GROUP BY c.text;
-- the same two moments on both clocks: a difference means that the wall clock was set meanwhile
INSERT INTO warning
SELECT 'clock_stepped', count(*), 'The wall clock was set during the run (by up to ' || max(abs(drift)) // 1000000 || ' ms): times across that moment are wrong.'
FROM (
    SELECT process, (max(realtime) - min(realtime)) - (max(monotonic) - min(monotonic)) AS drift FROM raw_clock GROUP BY process
) WHERE abs(drift) > 1000000 HAVING count(*) > 0;
-- CUPTI's clock must be the one that the marks are stamped with
INSERT INTO warning
SELECT 'clock_differs', count(*), 'CUPTI does not count time as the marks do (' || max(abs(cupti - realtime)) // 1000 || ' us apart): ranges and ops may not match.'
FROM raw_clock WHERE cupti > 0 AND abs(cupti - realtime) > 1000000 HAVING count(*) > 0;
