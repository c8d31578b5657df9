-- The portal: sessions of its pages, second factors, passwords that an operator chose.

ALTER TABLE account ADD COLUMN must_change_password BOOLEAN NOT NULL DEFAULT FALSE;

-- A session of the pages. The cookie is here as its SHA-256 only. Rows are deleted when their session ends.
CREATE TABLE portal_session (
    id TEXT NOT NULL PRIMARY KEY,
    token_hash BYTEA NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES account (uuid),
    -- A display on a wall: it reads, and is not locked when nobody touches it.
    view_only BOOLEAN NOT NULL,
    address TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    last_seen_ms BIGINT NOT NULL,
    ends_ms BIGINT NOT NULL
);
CREATE INDEX portal_session_account ON portal_session (account);
CREATE INDEX portal_session_ends ON portal_session (ends_ms);

-- The secret of an account's second factor, sealed by the master key.
CREATE TABLE totp (
    account TEXT NOT NULL PRIMARY KEY REFERENCES account (uuid),
    sealed_secret BYTEA NOT NULL,
    -- Absent until a first code has shown that the secret has arrived.
    confirmed_ms BIGINT,
    -- Number of the last step whose code was used: a code works once.
    last_step BIGINT NOT NULL
);
