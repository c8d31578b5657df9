-- What management operations need: alarms, order among the changes of a patient, erasure.

-- Number of the last change that an operation of the users database has made here.
ALTER TABLE patient ADD COLUMN changes BIGINT NOT NULL DEFAULT 0;

-- Thresholds at which somebody wants to be told: JSON.
CREATE TABLE patient_alarm (
    patient TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);

-- Patients who were erased. Whatever still comes for one of them is dropped.
CREATE TABLE erased_patient (
    uuid TEXT NOT NULL PRIMARY KEY,
    -- How many rows of each kind went from this database: JSON.
    counts TEXT NOT NULL,
    erased_ms BIGINT NOT NULL
);

-- Periods in which an erased patient may have objects: they are looked through once more when no sealing from
-- before the erasure can be under way any longer.
CREATE TABLE erased_period (
    patient TEXT NOT NULL,
    data_type BIGINT NOT NULL,
    period_start_us BIGINT NOT NULL,
    erased_ms BIGINT NOT NULL,
    PRIMARY KEY (patient, data_type, period_start_us)
);
CREATE INDEX erased_period_erased ON erased_period (erased_ms);
