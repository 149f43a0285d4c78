-- The data model of a run file. One DuckDB file holds one run.
-- Times are integer nanoseconds on the clock of the row's process (table `clock`).
-- Times are never NULL in a finished run: ingest/clean.py leaves out and counts rows without them.

CREATE TYPE activity AS ENUM ('kernel', 'memcpy', 'memset');

CREATE TABLE run (key VARCHAR NOT NULL, value VARCHAR);
COMMENT ON TABLE run IS 'What this run file is: schema version, source format, tool and its version, content hash.';
COMMENT ON COLUMN run.key IS 'Name of the fact, for example schema_version, format, tool, source_sha256.';
COMMENT ON COLUMN run.value IS 'Its value as text.';

CREATE TABLE clock (clock INTEGER NOT NULL, epoch_ns BIGINT, source VARCHAR);
COMMENT ON TABLE clock IS 'Clocks of the merged files; times of two clocks are comparable only after alignment.';
COMMENT ON COLUMN clock.clock IS 'Id of the clock.';
COMMENT ON COLUMN clock.epoch_ns IS 'UTC nanoseconds at time 0 of this clock, NULL where the source does not say.';
COMMENT ON COLUMN clock.source IS 'How the clock is known: session_start, base_time, aligned.';

CREATE TABLE process (process INTEGER NOT NULL, pid BIGINT, clock INTEGER NOT NULL);
COMMENT ON TABLE process IS 'Processes that issued GPU work, API calls or ranges.';
COMMENT ON COLUMN process.process IS 'Id of the process within this run.';
COMMENT ON COLUMN process.pid IS 'System process id as recorded.';
COMMENT ON COLUMN process.clock IS 'Clock of all times of this process.';

CREATE TABLE device (
    device INTEGER NOT NULL, name VARCHAR, sm_count INTEGER, memory_bandwidth BIGINT, l2_bytes BIGINT, identity VARCHAR
);
COMMENT ON TABLE device IS 'GPUs seen by the run.';
COMMENT ON COLUMN device.device IS 'Ordinal of the GPU in the machine where the trace maps it, else the CUDA ordinal.';
COMMENT ON COLUMN device.name IS 'Product name.';
COMMENT ON COLUMN device.sm_count IS 'Number of streaming multiprocessors.';
COMMENT ON COLUMN device.memory_bandwidth IS 'Nominal memory bandwidth, bytes per second.';
COMMENT ON COLUMN device.l2_bytes IS 'Size of the L2 cache, bytes.';
COMMENT ON COLUMN device.identity IS 'What tells one GPU from another across files: kind (uuid, bus, ordinal) and a hash of it, NULL where nothing is recorded.';

CREATE TABLE name (name_id BIGINT NOT NULL, text VARCHAR NOT NULL);
COMMENT ON TABLE name IS 'Names of ops, API calls and ranges, as recorded; untrusted text.';
COMMENT ON COLUMN name.name_id IS 'Id of the name within this run.';
COMMENT ON COLUMN name.text IS 'The name: demangled kernel name, API function or range text.';

CREATE TABLE op (
    op_id BIGINT NOT NULL, activity activity NOT NULL, process INTEGER NOT NULL, device INTEGER NOT NULL,
    context BIGINT, stream BIGINT, correlation BIGINT, start_ns BIGINT, end_ns BIGINT,
    name_id BIGINT NOT NULL, graph_id BIGINT, graph_node BIGINT, origin_node BIGINT, launch_type INTEGER,
    grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER,
    registers INTEGER, shared_bytes BIGINT, bytes BIGINT, copy_kind INTEGER, src_device INTEGER, dst_device INTEGER
);
COMMENT ON TABLE op IS 'GPU activities: kernels, copies and memsets. One row an execution.';
COMMENT ON COLUMN op.op_id IS 'Id of the op; no order is promised.';
COMMENT ON COLUMN op.activity IS 'kernel, memcpy or memset.';
COMMENT ON COLUMN op.process IS 'Process that launched it.';
COMMENT ON COLUMN op.device IS 'GPU it ran on.';
COMMENT ON COLUMN op.context IS 'CUDA context id, unique in its process.';
COMMENT ON COLUMN op.stream IS 'CUDA stream id, unique in its context; all nodes of a graph may report one stream.';
COMMENT ON COLUMN op.correlation IS 'Id of the API call that issued it, unique in its process; one graph launch issues many ops; NULL where unknown.';
COMMENT ON COLUMN op.start_ns IS 'Start on the GPU, ns.';
COMMENT ON COLUMN op.end_ns IS 'End on the GPU, ns, never before start_ns.';
COMMENT ON COLUMN op.name_id IS 'Its name.';
COMMENT ON COLUMN op.graph_id IS 'CUDA graph exec id, where recorded.';
COMMENT ON COLUMN op.graph_node IS 'Node of the executable graph, where recorded.';
COMMENT ON COLUMN op.origin_node IS 'Node made at capture from which graph_node was cloned.';
COMMENT ON COLUMN op.launch_type IS 'CUPTI launch type: 0 regular, 1 cooperative single device, 2 cooperative multi device.';
COMMENT ON COLUMN op.grid_x IS 'Blocks in x.';
COMMENT ON COLUMN op.grid_y IS 'Blocks in y.';
COMMENT ON COLUMN op.grid_z IS 'Blocks in z.';
COMMENT ON COLUMN op.block_x IS 'Threads of a block in x.';
COMMENT ON COLUMN op.block_y IS 'Threads of a block in y.';
COMMENT ON COLUMN op.block_z IS 'Threads of a block in z.';
COMMENT ON COLUMN op.registers IS 'Registers a thread.';
COMMENT ON COLUMN op.shared_bytes IS 'Static plus dynamic shared memory of a block, bytes.';
COMMENT ON COLUMN op.bytes IS 'Bytes moved or set by a copy or memset.';
COMMENT ON COLUMN op.copy_kind IS 'CUPTI copy kind: 1 host to device, 2 device to host, 8 device to device, 10 peer to peer.';
COMMENT ON COLUMN op.src_device IS 'GPU a copy reads from, where recorded.';
COMMENT ON COLUMN op.dst_device IS 'GPU a copy writes to, where recorded.';

CREATE TABLE api (
    process INTEGER NOT NULL, thread BIGINT, correlation BIGINT,
    start_ns BIGINT, end_ns BIGINT, name_id BIGINT NOT NULL, result BIGINT
);
COMMENT ON TABLE api IS 'CUDA runtime and driver calls on the host.';
COMMENT ON COLUMN api.process IS 'Process of the caller.';
COMMENT ON COLUMN api.thread IS 'System thread id of the caller.';
COMMENT ON COLUMN api.correlation IS 'Ties the call to the ops it issued, within the process.';
COMMENT ON COLUMN api.start_ns IS 'Entry into the call.';
COMMENT ON COLUMN api.end_ns IS 'Return from the call.';
COMMENT ON COLUMN api.name_id IS 'Function name without version suffix.';
COMMENT ON COLUMN api.result IS 'Return code; 0 is success.';

CREATE TABLE range (
    range_id BIGINT NOT NULL, process INTEGER NOT NULL, thread BIGINT, end_thread BIGINT,
    start_ns BIGINT, end_ns BIGINT, name_id BIGINT NOT NULL,
    domain VARCHAR, category BIGINT, payload VARCHAR, nested BOOLEAN NOT NULL, left_open BOOLEAN NOT NULL
);
COMMENT ON TABLE range IS 'Annotation ranges of the program (NVTX, record_function).';
COMMENT ON COLUMN range.range_id IS 'Id of the range.';
COMMENT ON COLUMN range.process IS 'Process that opened it.';
COMMENT ON COLUMN range.thread IS 'Thread that opened it.';
COMMENT ON COLUMN range.end_thread IS 'Thread that closed it where another did, else NULL.';
COMMENT ON COLUMN range.start_ns IS 'When it was opened.';
COMMENT ON COLUMN range.end_ns IS 'When it was closed; the end of the trace where it never was.';
COMMENT ON COLUMN range.name_id IS 'Its text.';
COMMENT ON COLUMN range.domain IS 'NVTX domain, NULL for the default domain.';
COMMENT ON COLUMN range.category IS 'NVTX category number.';
COMMENT ON COLUMN range.payload IS 'NVTX payload as text or JSON.';
COMMENT ON COLUMN range.nested IS 'True for push/pop ranges, which nest on a thread; false for start/end ranges.';
COMMENT ON COLUMN range.left_open IS 'True where the range was never closed.';

CREATE TABLE graph_node (
    process INTEGER NOT NULL, node BIGINT NOT NULL, origin BIGINT, thread BIGINT, start_ns BIGINT
);
COMMENT ON TABLE graph_node IS 'Creations and clones of CUDA graph nodes; a node may have several rows.';
COMMENT ON COLUMN graph_node.process IS 'Process that made it.';
COMMENT ON COLUMN graph_node.node IS 'Node id.';
COMMENT ON COLUMN graph_node.origin IS 'Node it was cloned from, NULL for an original or where the row does not say.';
COMMENT ON COLUMN graph_node.thread IS 'Thread that made it.';
COMMENT ON COLUMN graph_node.start_ns IS 'When it was made.';

CREATE TABLE graph_edge (
    process INTEGER, from_node BIGINT NOT NULL, to_node BIGINT NOT NULL,
    kind VARCHAR NOT NULL, source VARCHAR NOT NULL, confidence DOUBLE NOT NULL
);
COMMENT ON TABLE graph_edge IS 'Dependencies between nodes made at capture (origin_node of op).';
COMMENT ON COLUMN graph_edge.process IS 'Process of the graph, NULL where the edge file does not say.';
COMMENT ON COLUMN graph_edge.from_node IS 'Node that must finish (full) or signal (programmatic) first.';
COMMENT ON COLUMN graph_edge.to_node IS 'Node that waits for it.';
COMMENT ON COLUMN graph_edge.kind IS 'full or programmatic (PDL: the dependent may start early).';
COMMENT ON COLUMN graph_edge.source IS 'recorded, order or inferred.';
COMMENT ON COLUMN graph_edge.confidence IS '1 for recorded edges, else between 0 and 1.';

CREATE TABLE event_record (process INTEGER NOT NULL, context BIGINT, stream BIGINT, event BIGINT, sync_id BIGINT, correlation BIGINT);
COMMENT ON TABLE event_record IS 'CUDA events recorded on streams outside graphs.';
COMMENT ON COLUMN event_record.process IS 'Process of the caller.';
COMMENT ON COLUMN event_record.context IS 'Context of the stream.';
COMMENT ON COLUMN event_record.stream IS 'Stream the event was recorded on.';
COMMENT ON COLUMN event_record.event IS 'Event id.';
COMMENT ON COLUMN event_record.sync_id IS 'Ties a record to its waits, where the source has it.';
COMMENT ON COLUMN event_record.correlation IS 'The recording API call.';

CREATE TABLE event_wait (process INTEGER NOT NULL, context BIGINT, stream BIGINT, event BIGINT, sync_id BIGINT, correlation BIGINT);
COMMENT ON TABLE event_wait IS 'Streams made to wait for events (cudaStreamWaitEvent) outside graphs.';
COMMENT ON COLUMN event_wait.process IS 'Process of the caller.';
COMMENT ON COLUMN event_wait.context IS 'Context of the waiting stream.';
COMMENT ON COLUMN event_wait.stream IS 'Stream that waits.';
COMMENT ON COLUMN event_wait.event IS 'Event waited for.';
COMMENT ON COLUMN event_wait.sync_id IS 'Ties the wait to its record, where the source has it.';
COMMENT ON COLUMN event_wait.correlation IS 'The waiting API call.';

CREATE TABLE step_fact (
    step BIGINT NOT NULL, drafted INTEGER, kept INTEGER, batch INTEGER, class VARCHAR, context_length BIGINT, gpu_ns BIGINT
);
COMMENT ON TABLE step_fact IS 'What a step did that no mark can say, told by the server (import --facts).';
COMMENT ON COLUMN step_fact.step IS 'Number of the step as in its mark step/<n>.';
COMMENT ON COLUMN step_fact.drafted IS 'Draft tokens proposed.';
COMMENT ON COLUMN step_fact.kept IS 'Tokens kept, the bonus token included.';
COMMENT ON COLUMN step_fact.batch IS 'Sequences in the batch.';
COMMENT ON COLUMN step_fact.class IS 'Class of the prompt, for example prose or code.';
COMMENT ON COLUMN step_fact.context_length IS 'Tokens of context before the step.';
COMMENT ON COLUMN step_fact.gpu_ns IS 'GPU time of the step where the server timed it itself, ns.';

CREATE TABLE call_fact (
    step BIGINT NOT NULL, layer INTEGER NOT NULL, rows INTEGER, experts INTEGER, skipped BOOLEAN, expert_numbers INTEGER[]
);
COMMENT ON TABLE call_fact IS 'What a sidecar call did, told by the server (import --facts).';
COMMENT ON COLUMN call_fact.step IS 'Number of the step.';
COMMENT ON COLUMN call_fact.layer IS 'Layer of the call.';
COMMENT ON COLUMN call_fact.rows IS 'Cold rows sent.';
COMMENT ON COLUMN call_fact.experts IS 'Distinct cold experts used.';
COMMENT ON COLUMN call_fact.skipped IS 'True where no call was needed.';
COMMENT ON COLUMN call_fact.expert_numbers IS 'Numbers of those experts in the model, NULL where they are only counted.';

CREATE TABLE resident_call (
    round BIGINT NOT NULL, layer INTEGER NOT NULL, rows INTEGER,
    seen_ns BIGINT NOT NULL, gated_ns BIGINT, answered_ns BIGINT, clock_offset_bound_ns BIGINT
);
COMMENT ON TABLE resident_call IS 'Calls served by a kernel that never leaves the sidecar, stamped by itself (import --resident); a trace holds one record for all of them.';
COMMENT ON COLUMN resident_call.round IS 'Pass of the model the call belongs to, counted by the program.';
COMMENT ON COLUMN resident_call.layer IS 'Layer of the call.';
COMMENT ON COLUMN resident_call.rows IS 'Cold rows in its box.';
COMMENT ON COLUMN resident_call.seen_ns IS 'When the kernel saw the request flag, on the clock of the trace.';
COMMENT ON COLUMN resident_call.gated_ns IS 'When up and gate were done; NULL for a call without rows.';
COMMENT ON COLUMN resident_call.answered_ns IS 'When the answer flag was raised.';
COMMENT ON COLUMN resident_call.clock_offset_bound_ns IS 'How far its clock may be off from that of the trace, ns.';

CREATE TABLE op_cost (label VARCHAR NOT NULL, bytes_read BIGINT, bytes_written BIGINT, flops BIGINT, source VARCHAR);
COMMENT ON TABLE op_cost IS 'Traffic and arithmetic of an op, the input of the roofline (import --costs).';
COMMENT ON COLUMN op_cost.label IS 'Label path or op name the costs belong to.';
COMMENT ON COLUMN op_cost.bytes_read IS 'Bytes read from device memory.';
COMMENT ON COLUMN op_cost.bytes_written IS 'Bytes written to device memory.';
COMMENT ON COLUMN op_cost.flops IS 'Floating-point operations.';
COMMENT ON COLUMN op_cost.source IS 'Who says so: counted, measured, quoted.';

CREATE TABLE carried_label (op_id BIGINT NOT NULL, path VARCHAR[] NOT NULL);
COMMENT ON TABLE carried_label IS 'Range paths carried over from an annotated trace of the same program (import --labels-from).';
COMMENT ON COLUMN carried_label.op_id IS 'Op of this run that was aligned with a labelled op of the other trace.';
COMMENT ON COLUMN carried_label.path IS 'Range names around the other op, outermost first.';

CREATE TABLE counter (time_ns BIGINT NOT NULL, device INTEGER, name VARCHAR NOT NULL, value DOUBLE NOT NULL);
COMMENT ON TABLE counter IS 'Values sampled during the run: clocks, power, temperature.';
COMMENT ON COLUMN counter.time_ns IS 'When it was sampled.';
COMMENT ON COLUMN counter.device IS 'GPU it belongs to, NULL for the host.';
COMMENT ON COLUMN counter.name IS 'What was sampled, with its unit.';
COMMENT ON COLUMN counter.value IS 'The value.';

CREATE TABLE manifest (key VARCHAR NOT NULL, value VARCHAR);
COMMENT ON TABLE manifest IS 'How the run was made: arm, launch, versions, settings; never values of environment variables.';
COMMENT ON COLUMN manifest.key IS 'Name of the entry.';
COMMENT ON COLUMN manifest.value IS 'Its value.';

CREATE TABLE warning (code VARCHAR NOT NULL, count BIGINT NOT NULL, text VARCHAR NOT NULL);
COMMENT ON TABLE warning IS 'What was lost, doubted or left out while the run was read.';
COMMENT ON COLUMN warning.code IS 'Short name of the finding.';
COMMENT ON COLUMN warning.count IS 'How many rows it concerns.';
COMMENT ON COLUMN warning.text IS 'The finding in words.';
