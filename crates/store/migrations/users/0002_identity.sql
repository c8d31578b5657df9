-- Families of tokens, and OAuth: clients and what patients have consented to.

-- The first token of the family that this one was refreshed from: when that row ends, all of them end, also one that
-- another transaction is about to add.
ALTER TABLE session ADD COLUMN family TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN refresh_until_ms BIGINT NOT NULL DEFAULT 0;
UPDATE session SET family = id, refresh_until_ms = first_issued_ms;
CREATE INDEX session_refresh_until ON session (refresh_until_ms);

CREATE TABLE oauth_client (
    id TEXT NOT NULL PRIMARY KEY,
    -- SHA-256; absent for a client that cannot keep a secret.
    secret_hash BYTEA,
    name TEXT NOT NULL,
    privacy_policy_url TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    removed_ms BIGINT
);

CREATE TABLE oauth_redirect (
    client TEXT NOT NULL REFERENCES oauth_client (id),
    uri TEXT NOT NULL,
    PRIMARY KEY (client, uri)
) /*clustered*/;

-- That a patient lets a client read or send his data. The tokens are in the health database.
CREATE TABLE oauth_consent (
    id TEXT NOT NULL PRIMARY KEY,
    patient TEXT NOT NULL,
    client TEXT NOT NULL REFERENCES oauth_client (id),
    scope TEXT NOT NULL,
    given_ms BIGINT NOT NULL,
    ended_ms BIGINT
);
CREATE INDEX oauth_consent_patient ON oauth_consent (patient);
CREATE INDEX oauth_consent_client ON oauth_consent (client);
