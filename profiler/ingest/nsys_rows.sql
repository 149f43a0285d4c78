-- Small raw nsys tables (raw_*, see nsys_tables.py) -> names, ranges, graph nodes, events.
-- globalTid = machine << 48 | pid << 24 | tid; globalPid = the same with tid 0.
-- The big tables (ops, API calls) go straight into `op` and `api`: nsys_tables.py.

-- the export's times count from the session's start, unless it was told to shift or normalise them
INSERT INTO clock
SELECT 0, epoch_ns, CASE WHEN epoch_ns IS NOT NULL THEN 'session_start' END
FROM (
    SELECT min(utcEpochNs) AS epoch_ns FROM raw_session WHERE NOT EXISTS (
        FROM raw_meta WHERE name SIMILAR TO 'EXPORT_(PARAM_|CONFIG_)?TIME_(NORMALIZE|SHIFT)' AND value NOT IN ('', '0', 'false')
    )
);

-- a CUDA ordinal is a process's own view; the machine's ordinal where the export maps it
CREATE TEMP TABLE _device AS
SELECT pid AS process, cudaId AS cuda_id, min(gpuId) AS device FROM raw_cuda_device WHERE gpuId IS NOT NULL GROUP BY ALL;

CREATE TEMP TABLE _string AS
SELECT id, min(value) AS text, min(value) <> max(value) AS unsure FROM raw_string WHERE id BETWEEN 0 AND 1099511627776 GROUP BY id;
INSERT INTO warning
SELECT 'string_ambiguous', count(*), count(*) || ' ids stand for two strings in the file''s string table; the first by text is used.'
FROM _string WHERE unsure HAVING count(*) > 0;

-- names of ours have negative ids, range texts ids above those of the string table
INSERT INTO name
SELECT -copy_kind, '[CUDA memcpy ' || way || ']'
FROM (VALUES (1, 'Host-to-Device'), (2, 'Device-to-Host'), (3, 'Host-to-Array'), (4, 'Array-to-Host'), (5, 'Array-to-Array'),
    (6, 'Array-to-Device'), (7, 'Device-to-Array'), (8, 'Device-to-Device'), (9, 'Host-to-Host'), (10, 'Peer-to-Peer'),
    (11, 'Unified Host-to-Device'), (12, 'Unified Device-to-Host'), (13, 'Unified Device-to-Device')) AS t (copy_kind, way);
INSERT INTO name VALUES (-98, '[no name]'), (-99, '[CUDA memcpy]'), (-100, '[CUDA memset]');

-- ranges: push/pop (59, 70) and start/end (60, 71); a range never closed ends with the trace
CREATE TEMP TABLE _nvtx AS
SELECT n.* REPLACE (coalesce(n.globalTid, 0) AS globalTid),
    coalesce(s.text, nullif(n.text, ''), '<string ' || n.textId || ' is missing>', '') AS label,
    nullif(coalesce(j.text, n.jsonText), '') AS json
FROM raw_nvtx n LEFT JOIN _string s ON s.id = n.textId LEFT JOIN _string j ON j.id = n.jsonTextId;
CREATE TEMP TABLE _domain AS
SELECT (globalTid >> 24) & 16777215 AS process, domainId, min(label) AS domain
FROM _nvtx WHERE eventType = 75 AND coalesce(domainId, 0) <> 0 GROUP BY ALL;
CREATE TEMP TABLE _label AS
SELECT 1099511627776 + row_number() OVER (ORDER BY label) AS name_id, label
FROM (SELECT DISTINCT label FROM _nvtx WHERE eventType IN (59, 60, 70, 71));
INSERT INTO name SELECT name_id, label FROM _label;
CREATE TEMP TABLE _last AS SELECT max(coalesce("end", start)) AS last_ns FROM _nvtx;
INSERT INTO range
SELECT row_number() OVER (), (n.globalTid >> 24) & 16777215, n.globalTid & 16777215, n.endGlobalTid & 16777215,
    n.start, coalesce(n."end", last_ns), l.name_id, d.domain, n.category,
    coalesce(n.json, n.uint64Value::VARCHAR, n.int64Value::VARCHAR, nullif(n.doubleValue, ''), n.uint32Value::VARCHAR,
        n.int32Value::VARCHAR, nullif(n.floatValue, '')),
    n.eventType IN (59, 70), n."end" IS NULL
FROM _nvtx n CROSS JOIN _last
JOIN _label l USING (label)
LEFT JOIN _domain d ON d.process = (n.globalTid >> 24) & 16777215 AND d.domainId = n.domainId
WHERE n.eventType IN (59, 60, 70, 71);

INSERT INTO graph_node
SELECT DISTINCT coalesce((globalTid >> 24) & 16777215, 0), graphNodeId, nullif(originalGraphNodeId, 0), globalTid & 16777215, start
FROM raw_graph_node WHERE graphNodeId IS NOT NULL;

INSERT INTO event_record
SELECT (globalPid >> 24) & 16777215, contextId, streamId, eventId, eventSyncId, correlationId
FROM raw_event WHERE globalPid IS NOT NULL;
-- sync type 2 is a stream made to wait for an event
INSERT INTO event_wait
SELECT (globalPid >> 24) & 16777215, contextId, streamId, eventId, eventSyncId, correlationId
FROM raw_sync WHERE globalPid IS NOT NULL AND syncType = 2;
