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

-- How many derived values there are of an output and a day, for the same reason. Counted by the engine itself, since a
-- derivation does not know whether what it writes was there; on PostgreSQL, whose pages have checksums, the table is empty.
CREATE TABLE stored_count (
    patient TEXT NOT NULL,
    output BIGINT NOT NULL,
    -- Local day, or UTC day where keys are times.
    day BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    PRIMARY KEY (patient, output, day)
) /*clustered*/;
/*sqlite INSERT INTO stored_count (patient, output, day, row_count)
SELECT patient, output, key / CASE WHEN output IN (4, 5) THEN 86400000 ELSE 64 END, COUNT(*) FROM derived
GROUP BY 1, 2, 3;
CREATE TRIGGER derived_added AFTER INSERT ON derived BEGIN
    INSERT INTO stored_count (patient, output, day, row_count)
    VALUES (NEW.patient, NEW.output, NEW.key / CASE WHEN NEW.output IN (4, 5) THEN 86400000 ELSE 64 END, 1)
    ON CONFLICT (patient, output, day) DO UPDATE SET row_count = row_count + 1;
END;
CREATE TRIGGER derived_removed AFTER DELETE ON derived BEGIN
    UPDATE stored_count SET row_count = row_count - 1 WHERE patient = OLD.patient AND output = OLD.output
    AND day = OLD.key / CASE WHEN OLD.output IN (4, 5) THEN 86400000 ELSE 64 END;
END; sqlite*/
