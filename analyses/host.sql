-- Calls in which a host thread waits for the GPU: a launch after one follows what it waited for.
-- A thread that asks again and again whether an event has come (queries with no other call between) waits as well.
CREATE OR REPLACE TEMP TABLE _waiting AS
SELECT name_id, text SIMILAR TO '(cuda|cu|hip)(Event|Stream)Query.*' AS asks
FROM name
WHERE text SIMILAR TO '(cuda|cu|hip)(Device|Stream|Event|Ctx|Context|Thread)(Synchronize|Query).*'
    OR text SIMILAR TO '(cudaMemcpy|cudaMemcpy2D|cudaMemcpyToSymbol|cudaMemcpyFromSymbol|cuMemcpy(HtoD|DtoH|DtoD)(_v2)?|cuMemcpy)';

CREATE OR REPLACE TEMP TABLE _sync_call AS
WITH waiter AS (
    SELECT process, coalesce(thread, -1) AS thread, start_ns, end_ns, asks FROM api JOIN _waiting USING (name_id)
),
asked AS (
    SELECT a.process, coalesce(a.thread, -1) AS thread, a.start_ns, a.end_ns, coalesce(w.asks, false) AS asks,
        sum((NOT coalesce(w.asks, false))::INTEGER) OVER (PARTITION BY a.process, a.thread ORDER BY a.start_ns, a.end_ns)
            AS other_calls
    FROM api a LEFT JOIN _waiting w USING (name_id)
    WHERE (a.process, coalesce(a.thread, -1)) IN (SELECT (process, thread) FROM waiter WHERE asks)
)
SELECT process, thread, start_ns, end_ns FROM waiter WHERE NOT asks
UNION ALL
SELECT process, thread, min(start_ns), max(end_ns) FROM asked WHERE asks
GROUP BY process, thread, other_calls HAVING count(*) > 1;

-- Streams made to wait for what another stream had recorded, with the times of both calls.
-- Where the source numbers its records (sync_id), the wait names its record; else the event's latest one.
CREATE OR REPLACE TEMP TABLE _event_link AS
WITH call AS (
    SELECT process, correlation, min(start_ns) AS at_ns
    FROM api SEMI JOIN (
        SELECT process, correlation FROM event_record UNION SELECT process, correlation FROM event_wait
    ) USING (process, correlation)
    GROUP BY ALL
),
record AS (
    SELECT r.process, s.stream_key AS stream, r.event, r.sync_id, c.at_ns
    FROM event_record r JOIN call c USING (process, correlation)
    JOIN _stream s ON s.process = r.process AND s.context IS NOT DISTINCT FROM r.context AND s.stream = r.stream
),
wait AS (
    SELECT w.process, s.stream_key AS stream, w.event, w.sync_id, c.at_ns
    FROM event_wait w JOIN call c USING (process, correlation)
    JOIN _stream s ON s.process = w.process AND s.context IS NOT DISTINCT FROM w.context AND s.stream = w.stream
)
SELECT w.stream AS wait_stream, w.at_ns AS wait_ns, r.stream AS record_stream, r.at_ns AS record_ns
FROM wait w ASOF JOIN record r
    ON w.process = r.process AND w.event = r.event AND w.sync_id = r.sync_id AND w.at_ns >= r.at_ns
UNION ALL
SELECT w.stream, w.at_ns, r.stream, r.at_ns
FROM (FROM wait ANTI JOIN record USING (process, event, sync_id)) w
ASOF JOIN record r ON w.process = r.process AND w.event = r.event AND w.at_ns >= r.at_ns;
