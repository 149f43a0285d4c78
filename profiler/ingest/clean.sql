-- After the rows with bad times and the repeated ones are gone (clean.py): ids, names, and what is told of all that.

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
INSERT INTO device BY NAME SELECT DISTINCT device FROM op ANTI JOIN device d USING (device);

-- findings that lose nothing
INSERT INTO _dropped
SELECT 'op_zero_length', count(*), 'ops have no duration (kept; they add no work)' FROM op WHERE start_ns = end_ns
UNION ALL
SELECT 'op_without_call', count(*), 'ops have no API call in the file, so their launch is unknown'
FROM op ANTI JOIN api USING (process, correlation)
UNION ALL
SELECT 'range_left_open', count(*), 'ranges were never closed; they end with the trace' FROM range WHERE left_open;
INSERT INTO warning SELECT code, count, count || ' ' || text || '.' FROM _dropped WHERE count > 0;
