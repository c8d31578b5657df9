-- The health database. It knows a patient by uuid only: never a name, an e-mail, an external id or a group name.
-- Times are epoch milliseconds (`*_ms`) or microseconds (`*_us`); local days are days since 1970-01-01.

CREATE TABLE patient (
    uuid TEXT NOT NULL PRIMARY KEY,
    record_id TEXT NOT NULL,
    customer_code TEXT,
    birthday TEXT,
    gender TEXT,
    height DOUBLE PRECISION,
    weight DOUBLE PRECISION,
    skin_color BIGINT,
    hair_density BIGINT,
    time_zone TEXT,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    -- Number of the last sync; raising it is what makes the syncs of one patient follow each other.
    arrivals BIGINT NOT NULL,
    -- Who folds this patient now: the token tells an owner whether the lease is still his.
    fold_token BIGINT NOT NULL,
    fold_lease_until_ms BIGINT NOT NULL
);

CREATE TABLE device (
    patient TEXT NOT NULL,
    serial_number TEXT NOT NULL,
    device_type TEXT,
    firmware_version TEXT,
    battery_level BIGINT,
    updated_ms BIGINT NOT NULL,
    PRIMARY KEY (patient, serial_number)
) /*clustered*/;

CREATE TABLE session (
    id TEXT NOT NULL PRIMARY KEY,
    patient TEXT NOT NULL,
    -- The account that reads in the patient's stead; NULL when it is the patient.
    actor TEXT,
    -- The API key that the token was asked for with, so that it ends with it.
    api_key TEXT,
    scope TEXT NOT NULL,
    first_issued_ms BIGINT NOT NULL,
    issued_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    replaced_ms BIGINT,
    ended_ms BIGINT
);
CREATE INDEX session_patient ON session (patient);
CREATE INDEX session_actor ON session (actor);
CREATE INDEX session_api_key ON session (api_key);

CREATE TABLE signing_key (
    kid TEXT NOT NULL PRIMARY KEY,
    sealed_key BYTEA NOT NULL,
    public_key BYTEA NOT NULL,
    created_ms BIGINT NOT NULL,
    retired_ms BIGINT
);

-- What one sync brought of one type and channel within one UTC day and was not there before. The key begins with the
-- end of the chunk: what lies at or after a time is found without touching what lies before it, and live data, which
-- is most, lies at the end.
CREATE TABLE chunk (
    patient TEXT NOT NULL,
    data_type BIGINT NOT NULL,
    channel BIGINT NOT NULL,
    first_us BIGINT NOT NULL,
    arrival BIGINT NOT NULL,
    last_us BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    payload BYTEA NOT NULL,
    PRIMARY KEY (patient, data_type, last_us, channel, arrival, first_us)
);

-- Hours in which small chunks have arrived: once an hour is closed they become one chunk.
CREATE TABLE open_hour (
    patient TEXT NOT NULL,
    data_type BIGINT NOT NULL,
    hour_us BIGINT NOT NULL,
    ready_ms BIGINT NOT NULL,
    PRIMARY KEY (patient, data_type, hour_us)
) /*clustered*/;
CREATE INDEX open_hour_ready ON open_hour (ready_ms);

-- A sealed period: one Parquet object of one patient and one type. Its rows are older than every chunk's.
CREATE TABLE segment (
    patient TEXT NOT NULL,
    data_type BIGINT NOT NULL,
    period_start_us BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    path TEXT NOT NULL,
    first_us BIGINT NOT NULL,
    last_us BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    sealed_ms BIGINT NOT NULL,
    PRIMARY KEY (patient, data_type, period_start_us)
);

-- Objects that no catalog row refers to any more, kept until readers that may hold them have ended.
CREATE TABLE dead_object (
    path TEXT NOT NULL PRIMARY KEY,
    dead_since_ms BIGINT NOT NULL
);

-- How many samples lie in a UTC quarter of an hour, by the offset (seconds east) of their zone at that time: the
-- local day and hour of each sample follow without opening a chunk.
CREATE TABLE tally (
    patient TEXT NOT NULL,
    data_type BIGINT NOT NULL,
    quarter_us BIGINT NOT NULL,
    offset_s BIGINT NOT NULL,
    samples BIGINT NOT NULL,
    PRIMARY KEY (patient, data_type, quarter_us, offset_s)
) /*clustered*/;

CREATE TABLE latest_value (
    patient TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
) /*clustered*/;

-- Ranges whose derived values are to be computed again.
CREATE TABLE due (
    patient TEXT NOT NULL,
    arrival BIGINT NOT NULL,
    data_type BIGINT NOT NULL,
    first_us BIGINT NOT NULL,
    last_us BIGINT NOT NULL,
    ready_ms BIGINT NOT NULL,
    PRIMARY KEY (patient, arrival, data_type, first_us, ready_ms)
) /*clustered*/;
CREATE INDEX due_ready ON due (ready_ms);

-- The five-minute cells of one patient's local day, packed; one row for each type that they come from.
CREATE TABLE slot (
    patient TEXT NOT NULL,
    local_day BIGINT NOT NULL,
    data_type BIGINT NOT NULL,
    cells BYTEA NOT NULL,
    PRIMARY KEY (patient, local_day, data_type)
);

-- The sections of a day, as JSON without slots.
CREATE TABLE daily_summary (
    patient TEXT NOT NULL,
    local_day BIGINT NOT NULL,
    section TEXT NOT NULL,
    format BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (patient, local_day, section)
) /*clustered*/;

CREATE TABLE news_entry (
    patient TEXT NOT NULL,
    time_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (patient, time_ms)
);

-- Settings that enter a formula, each valid from a time on.
CREATE TABLE patient_setting (
    patient TEXT NOT NULL,
    name TEXT NOT NULL,
    valid_from_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (patient, name, valid_from_ms)
);

-- Sync ids and what they were answered, so that a repeat with other content is told.
CREATE TABLE sync (
    patient TEXT NOT NULL,
    sync_id TEXT NOT NULL,
    content_hash BYTEA NOT NULL,
    arrival BIGINT NOT NULL,
    received_ms BIGINT NOT NULL,
    PRIMARY KEY (patient, sync_id)
);
CREATE INDEX sync_received ON sync (received_ms);
