-- What other days need to know of a day: packed, and small, so that sixty of them are read at once.
CREATE TABLE day_fact (
    patient TEXT NOT NULL,
    local_day BIGINT NOT NULL,
    facts BYTEA NOT NULL,
    PRIMARY KEY (patient, local_day)
) /*clustered*/;

-- The atrial-fibrillation records of one UTC hour, packed: counting begins anew in each hour.
CREATE TABLE afib_hour (
    patient TEXT NOT NULL,
    hour_ms BIGINT NOT NULL,
    records BYTEA NOT NULL,
    PRIMARY KEY (patient, hour_ms)
);

-- An older program derived nothing from these types: everything that is stored of them is due.
INSERT INTO due (patient, arrival, data_type, first_us, last_us, ready_ms)
SELECT patient, 0, data_type, MIN(quarter_us), MAX(quarter_us) + 899999999, 0 FROM tally
WHERE data_type <> 1 AND data_type <> 4 AND data_type <> 8 AND data_type <> 11
GROUP BY patient, data_type;
