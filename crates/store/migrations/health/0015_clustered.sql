-- What is derived lies in the order of its key on SQLite, as summaries did before everything derived came into one table:
-- the sections of a patient's day are read from one page, and not one by one from wherever they were written.
/*sqlite CREATE TABLE derived_by_key (
    patient TEXT NOT NULL,
    output BIGINT NOT NULL,
    key BIGINT NOT NULL,
    version BIGINT NOT NULL,
    sum BIGINT,
    body BYTEA NOT NULL,
    PRIMARY KEY (patient, output, key)
) WITHOUT ROWID;
INSERT INTO derived_by_key SELECT patient, output, key, version, sum, body FROM derived
    ORDER BY patient, output, key;
DROP TABLE derived;
ALTER TABLE derived_by_key RENAME TO derived; sqlite*/
