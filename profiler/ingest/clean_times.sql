-- Rows whose times cannot be true are left out and counted in _dropped; every format goes through here (clean.py).

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

-- no capture lasts a day: where a process's times lie further apart, those more than a day from their median are absurd
CREATE TEMP VIEW _time AS
SELECT process, start_ns, end_ns FROM api UNION ALL SELECT process, start_ns, end_ns FROM op
UNION ALL SELECT process, start_ns, end_ns FROM range;
CREATE TEMP TABLE _day AS
WITH wide AS (
    SELECT process FROM _time GROUP BY process HAVING max(end_ns)::HUGEINT - min(start_ns) > 86400000000000
)
SELECT process, quantile_disc(start_ns, 0.5)::HUGEINT - 86400000000000 AS first_ns, first_ns + 172800000000000 AS last_ns
FROM _time SEMI JOIN wide USING (process) GROUP BY process;
INSERT INTO _dropped
SELECT 'api_time_outside', count(*), 'API calls lie more than a day from the others and were left out'
FROM api JOIN _day USING (process) WHERE start_ns < first_ns OR end_ns > last_ns
UNION ALL
SELECT 'range_time_outside', count(*), 'ranges lie more than a day from the rest and were left out'
FROM range JOIN _day USING (process) WHERE start_ns < first_ns OR end_ns > last_ns;
DELETE FROM api USING _day d WHERE api.process = d.process AND (start_ns < first_ns OR end_ns > last_ns);
DELETE FROM range USING _day d WHERE range.process = d.process AND (start_ns < first_ns OR end_ns > last_ns);

-- ops more than ten minutes outside of all API calls: no capture holds them
CREATE TEMP TABLE _span AS
SELECT min(start_ns)::HUGEINT - 600000000000 AS first_ns, max(end_ns)::HUGEINT + 600000000000 AS last_ns FROM api;
CREATE TEMP TABLE _outside AS
SELECT op_id FROM op, _span WHERE start_ns < first_ns OR end_ns > last_ns
UNION
SELECT op_id FROM op JOIN _day USING (process) WHERE start_ns < first_ns OR end_ns > last_ns;
INSERT INTO _dropped
SELECT 'op_time_outside', count(*), 'ops lie more than ten minutes outside of the capture and were left out' FROM _outside;
DELETE FROM op USING _outside o WHERE op.op_id = o.op_id;
