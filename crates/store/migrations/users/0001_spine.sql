-- The users database: who people are, what they may do, and what they did. No vital sign.
-- Times are epoch milliseconds.

CREATE TABLE account (
    uuid TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    first_name TEXT,
    last_name TEXT,
    password_hash TEXT NOT NULL,
    subscription_until_ms BIGINT,
    disabled_ms BIGINT,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL
);

CREATE TABLE api_key (
    id TEXT NOT NULL PRIMARY KEY,
    key_hash BYTEA NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    account TEXT NOT NULL REFERENCES account (uuid),
    name TEXT,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    revoked_ms BIGINT,
    last_used_ms BIGINT
);

-- A key without a row here acts on all groups of its account.
CREATE TABLE api_key_group (
    api_key TEXT NOT NULL REFERENCES api_key (id),
    group_code TEXT NOT NULL,
    PRIMARY KEY (api_key, group_code)
) /*clustered*/;

CREATE TABLE study_group (
    code TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    hcp_code TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    created_ms BIGINT NOT NULL
);

CREATE TABLE membership (
    account TEXT NOT NULL REFERENCES account (uuid),
    group_code TEXT NOT NULL REFERENCES study_group (code),
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (account, group_code)
) /*clustered*/;
CREATE INDEX membership_group ON membership (group_code);

CREATE TABLE patient (
    uuid TEXT NOT NULL PRIMARY KEY,
    record_id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    voucher_code TEXT NOT NULL UNIQUE,
    voucher_expires_ms BIGINT NOT NULL,
    email TEXT UNIQUE,
    password_hash TEXT,
    must_change_password BOOLEAN NOT NULL,
    -- first_name, last_name, country, external_patient_id, customer_tag, agreement, brand: JSON.
    person TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL
);

CREATE TABLE group_patient (
    group_code TEXT NOT NULL REFERENCES study_group (code),
    patient TEXT NOT NULL REFERENCES patient (uuid),
    attached_ms BIGINT NOT NULL,
    PRIMARY KEY (group_code, patient)
) /*clustered*/;
CREATE INDEX group_patient_patient ON group_patient (patient);

CREATE TABLE session (
    id TEXT NOT NULL PRIMARY KEY,
    -- The uuid of a patient or an account.
    owner TEXT NOT NULL,
    first_issued_ms BIGINT NOT NULL,
    issued_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    replaced_ms BIGINT,
    ended_ms BIGINT
);
CREATE INDEX session_owner ON session (owner);

CREATE TABLE signing_key (
    kid TEXT NOT NULL PRIMARY KEY,
    sealed_key BYTEA NOT NULL,
    public_key BYTEA NOT NULL,
    created_ms BIGINT NOT NULL,
    retired_ms BIGINT
);

-- Entries are numbered and stamped as they complete, so a past range never gains one.
CREATE TABLE audit_entry (
    number BIGINT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    time_ms BIGINT NOT NULL,
    action_type TEXT NOT NULL,
    user_id TEXT NOT NULL,
    user_role TEXT NOT NULL,
    primary_entity_id TEXT NOT NULL,
    primary_entity_type TEXT NOT NULL,
    secondary_entity_id TEXT,
    secondary_entity_type TEXT,
    details TEXT,
    salt BYTEA,
    details_hash BYTEA NOT NULL,
    entry_hash BYTEA NOT NULL
);
-- The one row that every audited operation raises: it makes entries follow each other and holds what the next one
-- is chained to. Its time never goes back.
CREATE TABLE audit_head (
    number BIGINT NOT NULL,
    time_ms BIGINT NOT NULL,
    -- Absent before the first entry.
    entry_hash BYTEA
);
INSERT INTO audit_head (number, time_ms) VALUES (0, 0);

-- Changes of the health database that a committed operation still owes, with the audit entries to write once they
-- are made.
CREATE TABLE health_intent (
    id TEXT NOT NULL PRIMARY KEY,
    change TEXT NOT NULL,
    entries TEXT NOT NULL,
    created_ms BIGINT NOT NULL
);
CREATE INDEX health_intent_created ON health_intent (created_ms);

CREATE INDEX audit_entry_user ON audit_entry (user_id, time_ms);
CREATE INDEX audit_entry_primary ON audit_entry (primary_entity_id, time_ms);
CREATE INDEX audit_entry_secondary ON audit_entry (secondary_entity_id, time_ms);
