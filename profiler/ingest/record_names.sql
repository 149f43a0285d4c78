-- Record files, first part: names, clock, devices and graph nodes, which the ops need.

INSERT INTO clock VALUES (0, 0, 'realtime');

-- API names go without their ABI suffix: cudaLaunchKernel_v7000 -> cudaLaunchKernel
CREATE TEMP TABLE _text AS
SELECT process, id, any_value(CASE WHEN regexp_matches(text, '^cu(da)?[A-Z]')
    THEN regexp_replace(text, '(_ptsz|_ptds|_v\d+)+$', '') ELSE text END) AS text
FROM raw_text GROUP BY ALL;
CREATE TEMP TABLE _name AS
SELECT row_number() OVER (ORDER BY text) AS name_id, text
FROM (SELECT DISTINCT text FROM _text UNION SELECT '' UNION SELECT '[no name]');
INSERT INTO name FROM _name;
CREATE TEMP TABLE _named AS SELECT process, id, name_id FROM _text JOIN _name USING (text);

-- copies and memsets are named as nsys names them; their ids are negative
CREATE TEMP TABLE _way AS
SELECT -copy_kind AS name_id, '[CUDA memcpy ' || way || ']' AS text
FROM (VALUES (1, 'Host-to-Device'), (2, 'Device-to-Host'), (3, 'Host-to-Array'), (4, 'Array-to-Host'), (5, 'Array-to-Array'),
    (6, 'Array-to-Device'), (7, 'Device-to-Array'), (8, 'Device-to-Device'), (9, 'Host-to-Host'), (10, 'Peer-to-Peer')) AS t (copy_kind, way);
INSERT INTO name FROM _way;
INSERT INTO name VALUES (-99, '[CUDA memcpy]'), (-100, '[CUDA memset]');

-- a CUDA ordinal is a process's own view: one number a GPU, told apart by its uuid
CREATE TEMP TABLE _gpu AS SELECT uuid, min(id) AS id, count(DISTINCT id) AS views FROM raw_device GROUP BY uuid;
CREATE TEMP TABLE _numbered AS
SELECT uuid, CASE WHEN (SELECT max(views) = 1 AND count(DISTINCT id) = count(*) FROM _gpu)
    THEN id ELSE row_number() OVER (ORDER BY uuid) - 1 END AS device FROM _gpu;
CREATE TEMP TABLE _device AS
SELECT DISTINCT process, id AS cuda_id, device FROM raw_device JOIN _numbered USING (uuid);
INSERT INTO device BY NAME
SELECT n.device, any_value(t.text) AS name, any_value(sm_count) AS sm_count, any_value(bandwidth) AS memory_bandwidth,
    any_value(l2_bytes) AS l2_bytes, 'uuid ' || md5(any_value(uuid)) AS identity
FROM raw_device r JOIN _numbered n USING (uuid) LEFT JOIN _text t ON t.process = r.process AND t.id = r.name
GROUP BY n.device;

-- graph nodes are numbered anew in each process: those of all but the one with most nodes get numbers of their own
CREATE TEMP TABLE _shift AS
SELECT process, (row_number() OVER (ORDER BY count(*) DESC, process) - 1) << 53 AS shift FROM raw_node GROUP BY process;
UPDATE raw_node n SET node = node + shift, origin = CASE WHEN origin = 0 THEN 0 ELSE origin + shift END
FROM _shift s WHERE s.process = n.process AND shift > 0;
UPDATE raw_edge e SET from_node = from_node + shift, to_node = to_node + shift
FROM _shift s WHERE s.process = e.process AND shift > 0;
UPDATE raw_kernel k SET node = node + shift FROM _shift s WHERE s.process = k.process AND shift > 0 AND node <> 0;
UPDATE raw_copy c SET node = node + shift FROM _shift s WHERE s.process = c.process AND shift > 0 AND node <> 0;

INSERT INTO graph_node SELECT DISTINCT process, node, nullif(origin, 0), thread, time FROM raw_node;
