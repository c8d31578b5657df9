-- What management operations need: settings of groups, bracelets, order among the changes of a patient, erasure.

-- Numbers the changes that a patient's operations owe the health database, so that they are made there in the order
-- in which they were committed here.
ALTER TABLE patient ADD COLUMN changes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE health_intent ADD COLUMN patient TEXT;
ALTER TABLE health_intent ADD COLUMN number BIGINT NOT NULL DEFAULT 0;
CREATE INDEX health_intent_patient ON health_intent (patient, number);

-- The settings of a group as they stand; what was valid when is kept for each patient, in the health database.
CREATE TABLE group_setting (
    group_code TEXT NOT NULL REFERENCES study_group (code),
    name TEXT NOT NULL,
    -- JSON.
    body TEXT NOT NULL,
    valid_from_ms BIGINT NOT NULL,
    PRIMARY KEY (group_code, name)
) /*clustered*/;

CREATE TABLE bracelet (
    id TEXT NOT NULL PRIMARY KEY,
    serial_number TEXT NOT NULL UNIQUE,
    device_type TEXT NOT NULL,
    firmware_version TEXT,
    -- The account whose groups share the bracelet while nobody wears it.
    registered_by TEXT NOT NULL,
    created_ms BIGINT NOT NULL
);
CREATE INDEX bracelet_registered_by ON bracelet (registered_by);

-- Who wears, and who wore, which bracelet. Rows outlive their bracelet, so that erasure finds its audit entries.
CREATE TABLE bracelet_attachment (
    id TEXT NOT NULL PRIMARY KEY,
    bracelet TEXT NOT NULL,
    patient TEXT NOT NULL REFERENCES patient (uuid),
    attached_ms BIGINT NOT NULL,
    -- Absent while it is worn.
    detached_ms BIGINT
);
CREATE INDEX bracelet_attachment_patient ON bracelet_attachment (patient);
CREATE INDEX bracelet_attachment_bracelet ON bracelet_attachment (bracelet);
CREATE UNIQUE INDEX bracelet_attachment_worn ON bracelet_attachment (bracelet) WHERE detached_ms IS NULL;

-- Patients who were erased. Whatever still comes for one of them is dropped.
CREATE TABLE erasure (
    patient TEXT NOT NULL PRIMARY KEY,
    -- How many rows of each kind went from this database: JSON.
    counts TEXT NOT NULL,
    erased_ms BIGINT NOT NULL,
    -- When the files were rewritten, so that nothing is left in pages that are no longer used.
    overwritten_ms BIGINT
);
