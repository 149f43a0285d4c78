-- After the events of a Kineto trace: clock, names, devices, waits between streams, ranges never closed.
-- names, properties, waits, records: Arrow tables of kineto_finish.py; _host: the process of GPU rows, the base time.

-- times are relative to the base time; older traces have none and times since 1970 (or since boot)
INSERT INTO clock
SELECT 0, epoch_ns, CASE WHEN epoch_ns IS NOT NULL THEN 'base_time' END
FROM (
    SELECT coalesce(base_ns, CASE WHEN (SELECT max(start_ns) FROM (FROM op SELECT start_ns UNION ALL FROM api SELECT start_ns))
        > 1000000000000000000 THEN 0 END) AS epoch_ns
    FROM _host
);

INSERT INTO name SELECT name_id, text FROM names;

INSERT INTO device BY NAME
SELECT id AS device, nullif(any_value(name), '') AS name, any_value(sms) AS sm_count
FROM properties WHERE id IN (SELECT DISTINCT device FROM op) GROUP BY id;

-- a wait names the stream and the call of the record it waits for: the record is known even without its own row
CREATE TEMP TABLE _caller_of AS
SELECT correlation, min(process) AS process FROM api
WHERE correlation IN (SELECT correlation FROM waits UNION SELECT correlation FROM records UNION SELECT wait_record FROM waits)
GROUP BY correlation;
CREATE TEMP TABLE _stream_context AS
SELECT stream, min(context) AS context FROM op GROUP BY stream HAVING count(DISTINCT context) = 1;
INSERT INTO event_wait
SELECT coalesce(c.process, _host.process), context, stream, wait_event, nullif(wait_record, 0), correlation
FROM waits CROSS JOIN _host LEFT JOIN _caller_of c USING (correlation);
INSERT INTO event_record
SELECT DISTINCT coalesce(c.process, _host.process), r.context, r.stream, r.event, r.correlation, r.correlation
FROM (
    FROM records
    UNION ALL
    SELECT coalesce(s.context, w.context), wait_stream, wait_record, wait_event
    FROM waits w LEFT JOIN _stream_context s ON s.stream = w.wait_stream
    WHERE wait_record > 0 AND wait_record NOT IN (SELECT correlation FROM records WHERE correlation IS NOT NULL)
) r CROSS JOIN _host LEFT JOIN _caller_of c USING (correlation);

UPDATE range SET end_ns = greatest(start_ns, (
    SELECT max(end_ns) FROM (FROM op SELECT end_ns UNION ALL FROM api SELECT end_ns UNION ALL FROM range SELECT end_ns)
)) WHERE left_open;
