-- Which store this is, and what is damaged of it.

-- The same in the users database and among the objects: what does not belong together is not opened together.
CREATE TABLE store_identity (
    one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL
);

-- Sealed files that were found missing, or not to be what was written. A row whose file no segment names says nothing
-- any more.
CREATE TABLE damaged_object (
    path TEXT NOT NULL PRIMARY KEY,
    -- Whose rows are in it, so that it ends with them.
    patient TEXT NOT NULL,
    -- `missing` or `damaged`.
    fault TEXT NOT NULL,
    -- 1 once the patient has an event of it.
    announced BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX damaged_object_patient ON damaged_object (patient);

-- Rows that were found not to be what was stored, by the pass that found them.
CREATE TABLE damaged_row (
    patient TEXT NOT NULL,
    what TEXT NOT NULL,
    first_us BIGINT NOT NULL,
    last_us BIGINT NOT NULL,
    pass BIGINT NOT NULL,
    PRIMARY KEY (patient, what, first_us, last_us)
);

-- Where the pass over everything stored has come to.
CREATE TABLE scrub (
    one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Counts the passes, from 1.
    pass BIGINT NOT NULL,
    stage TEXT NOT NULL,
    -- Behind what it goes on within the stage.
    position TEXT NOT NULL,
    begun_ms BIGINT NOT NULL,
    -- When the pass has ended; absent while it is under way.
    ended_ms BIGINT,
    -- What the pass has looked at.
    files BIGINT NOT NULL,
    rows BIGINT NOT NULL,
    bytes BIGINT NOT NULL
);
