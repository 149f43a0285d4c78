-- Append the attached run `part` to this one: every id kept apart, every time on the common clock.
-- _process, _device: old and new ids; variables op, range, node, clock, shift: what is added (merge.py).

INSERT INTO name
SELECT (SELECT coalesce(max(name_id), 0) FROM name) + row_number() OVER (ORDER BY text), text
FROM (SELECT DISTINCT text FROM part.name) ANTI JOIN name USING (text);
CREATE OR REPLACE TEMP TABLE _name AS SELECT p.name_id AS old, n.name_id AS new FROM part.name p JOIN name n USING (text);

INSERT INTO clock SELECT clock + getvariable('clock'), epoch_ns, source FROM part.clock;
INSERT INTO process
SELECT m.new, p.pid, p.clock + getvariable('clock') FROM part.process p JOIN _process m ON m.old = p.process;
INSERT INTO device
SELECT m.new, d.* EXCLUDE (device) FROM part.device d JOIN _device m ON m.old = d.device
WHERE m.new NOT IN (SELECT device FROM device);

INSERT INTO op BY NAME
SELECT o.* REPLACE (
    o.op_id + getvariable('op') AS op_id, activity::VARCHAR::activity AS activity, p.new AS process, d.new AS device,
    start_ns + getvariable('shift') AS start_ns, end_ns + getvariable('shift') AS end_ns, n.new AS name_id,
    graph_node + getvariable('node') AS graph_node, origin_node + getvariable('node') AS origin_node,
    src.new AS src_device, dst.new AS dst_device)
FROM part.op o JOIN _process p ON p.old = o.process JOIN _device d ON d.old = o.device JOIN _name n ON n.old = o.name_id
LEFT JOIN _device src ON src.old = o.src_device LEFT JOIN _device dst ON dst.old = o.dst_device;

INSERT INTO api BY NAME
SELECT a.* REPLACE (p.new AS process, n.new AS name_id,
    start_ns + getvariable('shift') AS start_ns, end_ns + getvariable('shift') AS end_ns)
FROM part.api a JOIN _process p ON p.old = a.process JOIN _name n ON n.old = a.name_id;

INSERT INTO range BY NAME
SELECT r.* REPLACE (range_id + getvariable('range') AS range_id, p.new AS process, n.new AS name_id,
    start_ns + getvariable('shift') AS start_ns, end_ns + getvariable('shift') AS end_ns)
FROM part.range r JOIN _process p ON p.old = r.process JOIN _name n ON n.old = r.name_id;

INSERT INTO graph_node BY NAME
SELECT g.* REPLACE (p.new AS process, node + getvariable('node') AS node, origin + getvariable('node') AS origin,
    start_ns + getvariable('shift') AS start_ns)
FROM part.graph_node g JOIN _process p ON p.old = g.process;
INSERT INTO graph_edge BY NAME
SELECT e.* REPLACE (p.new AS process, from_node + getvariable('node') AS from_node, to_node + getvariable('node') AS to_node)
FROM part.graph_edge e LEFT JOIN _process p ON p.old = e.process;
INSERT INTO event_record BY NAME
SELECT e.* REPLACE (p.new AS process) FROM part.event_record e JOIN _process p ON p.old = e.process;
INSERT INTO event_wait BY NAME
SELECT e.* REPLACE (p.new AS process) FROM part.event_wait e JOIN _process p ON p.old = e.process;

INSERT INTO step_fact BY NAME FROM part.step_fact;
INSERT INTO call_fact BY NAME FROM part.call_fact;
INSERT INTO resident_call BY NAME
SELECT c.* REPLACE (seen_ns + getvariable('shift') AS seen_ns, gated_ns + getvariable('shift') AS gated_ns,
    answered_ns + getvariable('shift') AS answered_ns)
FROM part.resident_call c;
INSERT INTO op_cost BY NAME FROM part.op_cost;
INSERT INTO carried_label SELECT op_id + getvariable('op'), path FROM part.carried_label;
INSERT INTO counter BY NAME
SELECT c.* REPLACE (time_ns + getvariable('shift') AS time_ns, d.new AS device)
FROM part.counter c LEFT JOIN _device d ON d.old = c.device;
INSERT INTO manifest FROM part.manifest ANTI JOIN manifest USING (key, value);
INSERT INTO warning
SELECT code, count, getvariable('source') || ': ' || text FROM part.warning;
