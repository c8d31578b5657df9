-- Background work: what waits, what is being done and by which node, what has failed.

-- A process that works in the background. The row goes when it stops, or when another node finds that it has died.
CREATE TABLE node (
    id TEXT NOT NULL PRIMARY KEY,
    -- The same for each process that is started on the same data folder; see `name` in docs/operations.md.
    name TEXT NOT NULL,
    started_ms BIGINT NOT NULL,
    -- Grows beyond every other node's with each sign of life. No clock: the clocks of two machines may differ.
    beat BIGINT NOT NULL
);

-- A piece of work, or the failures of one. Derivations have a row only while they fail: what is due of a patient and the
-- lease of it are on the patient's own rows.
CREATE TABLE job (
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    -- Whose data it touches, so that it ends with them.
    patient TEXT,
    -- When it may be claimed: the end of the lease while a node holds it.
    ready_ms BIGINT NOT NULL,
    token BIGINT NOT NULL,
    node TEXT,
    -- Runs that have failed since the last one that did not, and how many of them by a panic.
    failed_runs BIGINT NOT NULL,
    panics BIGINT NOT NULL,
    error TEXT,
    failed_ms BIGINT,
    -- The version of the program that has given the work up for now.
    put_aside TEXT,
    PRIMARY KEY (kind, subject)
);
CREATE INDEX job_kind_ready ON job (kind, ready_ms);
CREATE INDEX job_ready ON job (ready_ms);
CREATE INDEX job_patient ON job (patient);

-- Which node's derivation holds the patient.
ALTER TABLE patient ADD COLUMN fold_node TEXT;

-- The lease of an export is that of its job.
INSERT INTO job (kind, subject, patient, ready_ms, token, failed_runs, panics)
SELECT 'export', id, patient, 0, token, 0, 0 FROM export_job WHERE state = 'in_progress' AND is_audited;
DROP INDEX export_job_state;
ALTER TABLE export_job DROP COLUMN token;
ALTER TABLE export_job DROP COLUMN lease_until_ms;
ALTER TABLE export_job DROP COLUMN attempts;
-- An export whose entry is not written has no job.
ALTER TABLE export_job DROP COLUMN is_audited;
CREATE INDEX export_job_state ON export_job (state, created_ms);
