-- Exports, and the order in which segments were published.

-- Somebody asked for a patient's raw data as an archive. The account is a uuid, as in a session.
CREATE TABLE export_job (
    id TEXT NOT NULL PRIMARY KEY,
    patient TEXT NOT NULL,
    actor TEXT NOT NULL,
    -- What was asked for: JSON.
    request TEXT NOT NULL,
    -- The audit entry that is owed for it: JSON; absent once it is written. Nobody works on it before.
    owed_entry TEXT,
    created_ms BIGINT NOT NULL,
    -- `in_progress`, `done`, `failed`.
    state TEXT NOT NULL,
    -- Why it failed, for whoever asked.
    error TEXT,
    -- Who works on it: the token tells a worker whether the work is still his.
    token BIGINT NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    -- How often it has been tried.
    attempts BIGINT NOT NULL,
    -- The object that is being written, or that holds the archive.
    path TEXT,
    bytes BIGINT,
    finished_ms BIGINT
);
CREATE INDEX export_job_patient ON export_job (patient);
CREATE INDEX export_job_state ON export_job (state, lease_until_ms);
CREATE INDEX export_job_finished ON export_job (finished_ms);

-- How often exports of a patient may be asked for. The row without a patient is the default that an operator has set.
CREATE TABLE export_limit (
    patient TEXT NOT NULL PRIMARY KEY,
    interval_s BIGINT,
    last_ms BIGINT
);

-- Numbers segments in the order in which they become visible, so that what is new since a number is told exactly.
CREATE TABLE catalog_head (
    published BIGINT NOT NULL
);
INSERT INTO catalog_head (published) VALUES (0);
ALTER TABLE segment ADD COLUMN published BIGINT NOT NULL DEFAULT 0;
CREATE INDEX segment_published ON segment (patient, published);
CREATE INDEX segment_path ON segment (path);
