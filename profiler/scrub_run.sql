-- A run (`source`) -> its copy without who, where and when. What is left out never enters the copy: DuckDB keeps
-- the bytes of deleted rows. cleaned(): a text without paths, users, machines and secrets; variables: scrub_run.py.

-- processes and threads from 1, in the order of their ids
CREATE TEMP TABLE _process AS
SELECT process AS old, row_number() OVER (ORDER BY process) AS new FROM (
    SELECT process FROM source.process UNION SELECT process FROM source.op UNION SELECT process FROM source.api
    UNION SELECT process FROM source.range UNION SELECT process FROM source.graph_node
    UNION SELECT process FROM source.graph_edge UNION SELECT process FROM source.event_record
    UNION SELECT process FROM source.event_wait
) WHERE process IS NOT NULL;
-- where operators of the CPU stand in for GPU ops, their stream is a thread
SET VARIABLE stand_in = (SELECT count(*) > 0 FROM source.warning WHERE code = 'cpu_stand_in');
CREATE TEMP TABLE _thread AS
SELECT thread AS old, row_number() OVER (ORDER BY thread) AS new FROM (
    SELECT thread FROM source.api UNION SELECT thread FROM source.range UNION SELECT end_thread FROM source.range
    UNION SELECT thread FROM source.graph_node UNION SELECT stream FROM source.op WHERE getvariable('stand_in')
) WHERE thread IS NOT NULL;

-- times count from the first row on, so that no clock tells when it was; samples may be on the wall clock
CREATE TEMP TABLE _first AS
SELECT coalesce(min(start_ns), 0) AS zero FROM (
    SELECT start_ns FROM source.op UNION ALL SELECT start_ns FROM source.api UNION ALL SELECT start_ns FROM source.range
);
CREATE TEMP TABLE _sampled AS
SELECT CASE WHEN abs(sampled::HUGEINT - zero) < 86400000000000 THEN zero
    WHEN abs(sampled::HUGEINT - zero - epoch_ns) < 86400000000000 THEN zero + epoch_ns ELSE sampled END AS zero
FROM _first, (SELECT min(time_ns) AS sampled FROM source.counter), (SELECT min(epoch_ns) AS epoch_ns FROM source.clock);
SET VARIABLE zero = (SELECT zero FROM _first);
SET VARIABLE sampled = (SELECT zero FROM _sampled);

INSERT INTO run SELECT key, cleaned(value) FROM source.run WHERE list_contains(getvariable('facts'), key);
INSERT INTO manifest SELECT key, cleaned(value) FROM source.manifest WHERE list_contains(getvariable('entries'), key);
INSERT INTO warning SELECT cleaned(code), count, cleaned(text) FROM source.warning;
INSERT INTO clock SELECT clock, NULL, cleaned(source) FROM source.clock;
INSERT INTO process SELECT new, NULL, clock FROM source.process p JOIN _process ON old = p.process;
INSERT INTO device BY NAME SELECT * REPLACE (cleaned(name) AS name, NULL AS identity) FROM source.device;
INSERT INTO name SELECT name_id, cleaned(text) FROM source.name;

INSERT INTO op BY NAME
SELECT o.* REPLACE (
    activity::VARCHAR::activity AS activity, p.new AS process,
    CASE WHEN getvariable('stand_in') THEN t.new ELSE stream END AS stream,
    start_ns - getvariable('zero') AS start_ns, end_ns - getvariable('zero') AS end_ns)
FROM source.op o JOIN _process p ON p.old = o.process
LEFT JOIN _thread t ON t.old = o.stream AND getvariable('stand_in');
INSERT INTO api BY NAME
SELECT a.* REPLACE (p.new AS process, t.new AS thread,
    start_ns - getvariable('zero') AS start_ns, end_ns - getvariable('zero') AS end_ns)
FROM source.api a JOIN _process p ON p.old = a.process LEFT JOIN _thread t ON t.old = a.thread;
INSERT INTO range BY NAME
SELECT r.* REPLACE (p.new AS process, t.new AS thread, e.new AS end_thread,
    start_ns - getvariable('zero') AS start_ns, end_ns - getvariable('zero') AS end_ns,
    cleaned(domain) AS domain, cleaned(payload) AS payload)
FROM source.range r JOIN _process p ON p.old = r.process
LEFT JOIN _thread t ON t.old = r.thread LEFT JOIN _thread e ON e.old = r.end_thread;
INSERT INTO graph_node BY NAME
SELECT g.* REPLACE (p.new AS process, t.new AS thread, start_ns - getvariable('zero') AS start_ns)
FROM source.graph_node g JOIN _process p ON p.old = g.process LEFT JOIN _thread t ON t.old = g.thread;
INSERT INTO graph_edge BY NAME
SELECT e.* REPLACE (p.new AS process, cleaned(kind) AS kind, cleaned(source) AS source)
FROM source.graph_edge e LEFT JOIN _process p ON p.old = e.process;
INSERT INTO event_record BY NAME
SELECT e.* REPLACE (p.new AS process) FROM source.event_record e JOIN _process p ON p.old = e.process;
INSERT INTO event_wait BY NAME
SELECT e.* REPLACE (p.new AS process) FROM source.event_wait e JOIN _process p ON p.old = e.process;

INSERT INTO step_fact BY NAME SELECT * REPLACE (cleaned(class) AS class) FROM source.step_fact;
INSERT INTO call_fact BY NAME FROM source.call_fact;
INSERT INTO resident_call BY NAME
SELECT * REPLACE (seen_ns - getvariable('zero') AS seen_ns, gated_ns - getvariable('zero') AS gated_ns,
    answered_ns - getvariable('zero') AS answered_ns)
FROM source.resident_call;
INSERT INTO op_cost BY NAME
SELECT * REPLACE (cleaned(label) AS label, cleaned(c.source) AS source) FROM source.op_cost c;
INSERT INTO carried_label
SELECT op_id, list(cleaned(part) ORDER BY place) FROM (
    SELECT op_id, unnest(path) AS part, generate_subscripts(path, 1) AS place, row FROM (
        SELECT *, row_number() OVER () AS row FROM source.carried_label
    )
) GROUP BY row, op_id
UNION ALL SELECT op_id, path FROM source.carried_label WHERE len(path) = 0;
INSERT INTO counter BY NAME
SELECT * REPLACE (time_ns - getvariable('sampled') AS time_ns, cleaned(name) AS name) FROM source.counter;
