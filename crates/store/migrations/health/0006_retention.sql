-- How long raw data are kept, and copying of objects.

-- While somebody copies objects, dead ones are not deleted.
CREATE TABLE object_hold (
    id TEXT NOT NULL PRIMARY KEY,
    until_ms BIGINT NOT NULL
);

-- Before when what a patient has of a type was retired. What was derived from it stands and is not computed again.
CREATE TABLE retired (
    patient TEXT NOT NULL,
    data_type BIGINT NOT NULL,
    before_us BIGINT NOT NULL,
    PRIMARY KEY (patient, data_type)
);
