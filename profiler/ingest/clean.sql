-- Rows that cannot be true are left out and counted; every format goes through here.

-- ops and calls without usable times
CREATE TEMP TABLE _dropped AS
SELECT 'op_time_missing' AS code, count(*) AS count, 'ops have no start or end time and were left out' AS text
FROM op WHERE start_ns IS NULL OR end_ns IS NULL
UNION ALL
SELECT 'op_time_lost', count(*), 'ops have start = end = 0 (the profiler lost their times) and were left out'
FROM op WHERE start_ns = 0 AND end_ns = 0
UNION ALL
SELECT 'op_time_negative', count(*), 'ops end before they start and were left out' FROM op WHERE end_ns < start_ns
UNION ALL
SELECT 'op_device_missing', count(*), 'ops name no device and were left out' FROM op WHERE device < 0
UNION ALL
SELECT 'api_time_bad', count(*), 'API calls have missing or negative times and were left out'
FROM api WHERE start_ns IS NULL OR end_ns IS NULL OR end_ns < start_ns
UNION ALL
SELECT 'range_time_bad', count(*), 'ranges have missing or negative times and were left out'
FROM range WHERE start_ns IS NULL OR end_ns IS NULL OR end_ns < start_ns;
DELETE FROM op WHERE start_ns IS NULL OR end_ns IS NULL OR end_ns < start_ns OR (start_ns = 0 AND end_ns = 0) OR device < 0;
DELETE FROM api WHERE start_ns IS NULL OR end_ns IS NULL OR end_ns < start_ns;
DELETE FROM range WHERE start_ns IS NULL OR end_ns IS NULL OR end_ns < start_ns;

-- times more than ten minutes outside of all API calls: no capture holds them
CREATE TEMP TABLE _span AS SELECT min(start_ns) - 600000000000 AS first_ns, max(end_ns) + 600000000000 AS last_ns FROM api;
INSERT INTO _dropped
SELECT 'op_time_outside', count(*), 'ops lie more than ten minutes outside of the capture and were left out'
FROM op, _span WHERE start_ns < first_ns OR end_ns > last_ns;
DELETE FROM op USING _span WHERE start_ns < first_ns OR end_ns > last_ns;

-- the same row twice; one number a row finds the few to look at, at a third of the cost
CREATE TEMP TABLE _twice AS
WITH alike AS (
    SELECT hash(process, device, context, stream, correlation, graph_node, start_ns, end_ns, name_id) AS key
    FROM op GROUP BY key HAVING count(*) > 1
)
SELECT unnest(list(op_id ORDER BY op_id)[2:]) AS op_id
FROM op SEMI JOIN alike ON key = hash(process, device, context, stream, correlation, graph_node, start_ns, end_ns, name_id)
GROUP BY process, device, context, stream, correlation, graph_node, start_ns, end_ns, name_id HAVING count(*) > 1;
INSERT INTO _dropped SELECT 'op_duplicate', count(*), 'ops were recorded twice and counted once' FROM _twice;
DELETE FROM op USING _twice WHERE op.op_id = _twice.op_id;

-- correlation 0 and -1 mean none
UPDATE op SET correlation = NULL WHERE correlation IN (0, -1);
UPDATE api SET correlation = NULL WHERE correlation IN (0, -1);

-- names: one for every id in use, none without use
INSERT INTO name
SELECT used.name_id, '<string ' || used.name_id || ' is missing>'
FROM (SELECT DISTINCT name_id FROM op UNION SELECT DISTINCT name_id FROM api) used
ANTI JOIN name USING (name_id);
DELETE FROM name WHERE name_id NOT IN (SELECT name_id FROM op UNION SELECT name_id FROM api UNION SELECT name_id FROM range);
INSERT INTO _dropped SELECT 'name_missing', count(*), 'names are missing from the file''s string table' FROM name WHERE text LIKE '<string % is missing>';

INSERT INTO process
SELECT process, process, 0 FROM (
    SELECT DISTINCT process FROM op UNION SELECT DISTINCT process FROM api UNION SELECT DISTINCT process FROM range
);
INSERT INTO device
SELECT DISTINCT device, NULL, NULL, NULL, NULL FROM op ANTI JOIN device d USING (device);

-- findings that lose nothing
INSERT INTO _dropped
SELECT 'op_zero_length', count(*), 'ops have no duration (kept; they add no work)' FROM op WHERE start_ns = end_ns
UNION ALL
SELECT 'op_without_call', count(*), 'ops have no API call in the file, so their launch is unknown'
FROM op ANTI JOIN api USING (process, correlation)
UNION ALL
SELECT 'range_left_open', count(*), 'ranges were never closed; they end with the trace' FROM range WHERE left_open;
INSERT INTO warning SELECT code, count, count || ' ' || text || '.' FROM _dropped WHERE count > 0;
