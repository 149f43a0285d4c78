-- Leave out calls around the recorded ops.
-- The collector records calls from the start and ops in the window only; a launch without its ops would count as lost.
DELETE FROM api WHERE start_ns < (SELECT min(launch.start_ns) FROM api launch SEMI JOIN op USING (process, correlation))
    OR start_ns > (SELECT max(end_ns) FROM op);
