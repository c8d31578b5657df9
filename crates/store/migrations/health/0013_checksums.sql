-- Checksums beside what is stored (store/src/checksum.rs). Rows of before have none; what is written again gets one.

ALTER TABLE chunk ADD COLUMN sum BIGINT;
ALTER TABLE derived ADD COLUMN sum BIGINT;
ALTER TABLE patient_setting ADD COLUMN sum BIGINT;
-- Of the attributes of the body, which enter formulas.
ALTER TABLE patient ADD COLUMN profile_sum BIGINT;

-- The end of the object, which holds the list of the checksums of everything before it.
ALTER TABLE segment ADD COLUMN tail_bytes BIGINT;
ALTER TABLE segment ADD COLUMN tail_sum BIGINT;
-- Of the row itself.
ALTER TABLE segment ADD COLUMN sum BIGINT;

-- How many chunks end in the quarter of an hour: a damaged page of the index of chunks can hide one. A quarter of before
-- does not know, and is not compared.
ALTER TABLE tally ADD COLUMN chunks BIGINT;

-- Rows that came while what is stored at their time was damaged: stored without having been compared with it.
CREATE TABLE unverified (
    patient TEXT NOT NULL,
    data_type BIGINT NOT NULL,
    first_us BIGINT NOT NULL,
    last_us BIGINT NOT NULL,
    -- Number of the sync that brought them.
    arrival BIGINT NOT NULL,
    PRIMARY KEY (patient, data_type, first_us, arrival)
) /*clustered*/;
