-- After the big tables of an nsys export: names in use, devices by name, the tool, hidden graph launches.

-- only names in use reach the run file: the string table also holds paths and settings of the machine.
-- The API name goes without its ABI suffix: cudaLaunchKernel_v7000 -> cudaLaunchKernel
INSERT INTO name
SELECT id, CASE WHEN regexp_matches(text, '^cu[A-Z]|^cuda[A-Z]') THEN regexp_replace(text, '(_ptsz|_ptds|_v\d+)+$', '') ELSE text END
FROM _string WHERE id IN (SELECT name_id FROM op UNION SELECT name_id FROM api);

-- the GPU's own id as a hash: enough to tell whether two files mean one GPU; known where CUDA ordinals are mapped
INSERT INTO device
SELECT id, any_value(name), any_value(smCount), any_value(memoryBandwidth), any_value(l2CacheSize),
    CASE WHEN id IN (SELECT device FROM _device) THEN
        coalesce('uuid ' || md5(min(nullif(uuid, ''))), 'bus ' || md5(min(nullif(busLocation, ''))), 'ordinal ' || id) END
FROM raw_gpu WHERE id IN (SELECT DISTINCT device FROM op) GROUP BY id;

INSERT INTO run SELECT 'tool_version', value FROM raw_meta WHERE name = 'EXPORT_PRODUCT_VERSION';

-- whole-graph rows: the kernels of these launches were not recorded
INSERT INTO run SELECT 'graph_trace_rows', count(*)::VARCHAR FROM raw_graph_trace HAVING count(*) > 0;

-- a range that ends with the trace was never closed by the program: nsys puts the session's duration,
-- which is its end on the clock of the rows (stopTime is not), in the place of the end
UPDATE range SET left_open = true WHERE end_ns IN (SELECT duration FROM raw_details WHERE duration > 0);
