-- Ranges with their text; `name` numbers distinct texts from 0 in order of text.
CREATE OR REPLACE TEMP TABLE _range AS
SELECT r.process, coalesce(r.thread, -1) AS thread, r.start_ns, r.end_ns, r.domain, n.text,
    dense_rank() OVER (ORDER BY n.text) - 1 AS name
FROM range r JOIN name n USING (name_id);
