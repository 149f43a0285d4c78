-- After the big tables of an nsys export: devices by name, the tool, hidden graph launches.

INSERT INTO device
SELECT id, any_value(name), any_value(smCount), any_value(memoryBandwidth), any_value(l2CacheSize)
FROM raw_gpu WHERE id IN (SELECT DISTINCT device FROM op) GROUP BY id;

INSERT INTO run SELECT 'tool_version', value FROM raw_meta WHERE name = 'EXPORT_PRODUCT_VERSION';

-- whole-graph rows: the kernels of these launches were not recorded
INSERT INTO run SELECT 'graph_trace_rows', count(*)::VARCHAR FROM raw_graph_trace HAVING count(*) > 0;

-- a range that ends with the trace was never closed by the program
UPDATE range SET left_open = true
WHERE end_ns >= (SELECT max(greatest(duration, stopTime)) FROM raw_details);
