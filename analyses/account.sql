-- The account of a run as tables: what stepprof query and export offer beside those of the run file.

CREATE TEMP TABLE step (
    step INTEGER NOT NULL, label VARCHAR NOT NULL, phase VARCHAR, "window" VARCHAR NOT NULL,
    start_ns BIGINT NOT NULL, end_ns BIGINT NOT NULL, wall_ns BIGINT NOT NULL,
    gpu_start_ns BIGINT, gpu_end_ns BIGINT, ops INTEGER NOT NULL, flags VARCHAR[] NOT NULL, usable BOOLEAN NOT NULL
);
COMMENT ON TABLE step IS 'Decode steps, found by marks, launches or period.';
COMMENT ON COLUMN step.step IS 'Index of the step.';
COMMENT ON COLUMN step.label IS 'Text of its marker.';
COMMENT ON COLUMN step.phase IS 'Phase of the whole step, NULL for a round of draft, verify and accept.';
COMMENT ON COLUMN step.window IS 'host: the marker''s range; gpu: first op to the next step''s first op.';
COMMENT ON COLUMN step.start_ns IS 'Start of the window.';
COMMENT ON COLUMN step.end_ns IS 'End of the window.';
COMMENT ON COLUMN step.wall_ns IS 'Length of the window.';
COMMENT ON COLUMN step.gpu_start_ns IS 'Start of its first op, NULL without ops.';
COMMENT ON COLUMN step.gpu_end_ns IS 'End of its last op, NULL without ops.';
COMMENT ON COLUMN step.ops IS 'Its ops.';
COMMENT ON COLUMN step.flags IS 'What is doubtful about it.';
COMMENT ON COLUMN step.usable IS 'Whether figures over steps include it.';

CREATE TEMP TABLE op_account (
    op_id BIGINT NOT NULL, step INTEGER NOT NULL, device INTEGER NOT NULL, lane INTEGER NOT NULL,
    start_ns BIGINT NOT NULL, end_ns BIGINT NOT NULL, exposed_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL, role VARCHAR NOT NULL, kind VARCHAR NOT NULL, confidence VARCHAR NOT NULL,
    phase VARCHAR, layer INTEGER, label VARCHAR[] NOT NULL, waited_for BIGINT, link VARCHAR
);
COMMENT ON TABLE op_account IS 'Ops of all steps with what they are for and what they cost the step.';
COMMENT ON COLUMN op_account.op_id IS 'The op, as in table op.';
COMMENT ON COLUMN op_account.step IS 'Its step, as in table step.';
COMMENT ON COLUMN op_account.device IS 'GPU it ran on.';
COMMENT ON COLUMN op_account.lane IS 'Branch on its GPU: ops of one lane never overlap within a step.';
COMMENT ON COLUMN op_account.start_ns IS 'Start on the GPU.';
COMMENT ON COLUMN op_account.end_ns IS 'End on the GPU.';
COMMENT ON COLUMN op_account.exposed_ns IS 'Its share of the step''s wall on the path; 0 where it is hidden or waits.';
COMMENT ON COLUMN op_account.name IS 'Its name; untrusted text.';
COMMENT ON COLUMN op_account.role IS 'What it is for.';
COMMENT ON COLUMN op_account.kind IS 'What it does.';
COMMENT ON COLUMN op_account.confidence IS 'How its role was found, from user and label to none.';
COMMENT ON COLUMN op_account.phase IS 'prefill, draft, verify or accept, NULL where unknown.';
COMMENT ON COLUMN op_account.layer IS 'Layer, NULL where unknown.';
COMMENT ON COLUMN op_account.label IS 'Ranges around it, outermost first.';
COMMENT ON COLUMN op_account.waited_for IS 'op_id of the dependency that ended last, NULL where none is known.';
COMMENT ON COLUMN op_account.link IS 'How that is known: recorded, ordered, inferred.';

CREATE TEMP TABLE gap (
    step INTEGER NOT NULL, class VARCHAR NOT NULL, start_ns BIGINT NOT NULL, end_ns BIGINT NOT NULL
);
COMMENT ON TABLE gap IS 'Step time in which the walk finds no op running.';
COMMENT ON COLUMN gap.step IS 'The step, as in table step.';
COMMENT ON COLUMN gap.class IS 'What the path waited for.';
COMMENT ON COLUMN gap.start_ns IS 'Start.';
COMMENT ON COLUMN gap.end_ns IS 'End.';
