-- Everything that is computed from a patient's rows, in one table: a new output is a number and not a table, and one
-- statement writes whatever a derivation has changed.
CREATE TABLE derived (
    patient TEXT NOT NULL,
    -- Which output, a number of `store/src/health/derived.rs`.
    output BIGINT NOT NULL,
    -- Place within the output: a day, a day and a type, an hour, a time.
    key BIGINT NOT NULL,
    -- Version of the definitions that it was computed by.
    version BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (patient, output, key)
);
DROP TABLE slot;
DROP TABLE daily_summary;
DROP TABLE day_fact;
DROP TABLE afib_hour;
DROP TABLE news_entry;

-- The newest valid vital signs, JSON: written with whatever else a sync changes of the patient's row.
ALTER TABLE patient ADD COLUMN latest TEXT;
DROP TABLE latest_value;
-- What was computed before is computed again.
INSERT INTO due (patient, arrival, data_type, first_us, last_us, ready_ms)
SELECT patient, 0, data_type, MIN(quarter_us), MAX(quarter_us) + 899999999, 0 FROM tally WHERE TRUE
GROUP BY patient, data_type
ON CONFLICT (patient, arrival, data_type, first_us, ready_ms) DO NOTHING;
