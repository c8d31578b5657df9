-- Families of tokens, and the codes and refresh tokens of OAuth.

-- The first token of the family that this one was refreshed from: when that row ends, all of them end, also one that
-- another transaction is about to add.
ALTER TABLE session ADD COLUMN family TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN refresh_until_ms BIGINT NOT NULL DEFAULT 0;
-- The login on the Users Cloud that the token was exchanged for.
ALTER TABLE session ADD COLUMN login TEXT;
-- The OAuth client that the token was issued to, and the consent that it rests on.
ALTER TABLE session ADD COLUMN client TEXT;
ALTER TABLE session ADD COLUMN consent TEXT;
UPDATE session SET family = id, refresh_until_ms = first_issued_ms;
CREATE INDEX session_refresh_until ON session (refresh_until_ms);
CREATE INDEX session_login ON session (login);
CREATE INDEX session_client ON session (client);
CREATE INDEX session_consent ON session (consent);

CREATE TABLE oauth_code (
    code_hash BYTEA NOT NULL PRIMARY KEY,
    client TEXT NOT NULL,
    consent TEXT NOT NULL,
    patient TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    scope TEXT NOT NULL,
    -- SHA-256 of the verifier (RFC 7636), as base64url; absent when the client sent none.
    challenge TEXT,
    expires_ms BIGINT NOT NULL,
    -- The family of tokens that it was redeemed for: whoever comes with it again ends them.
    family TEXT
);
CREATE INDEX oauth_code_patient ON oauth_code (patient);
CREATE INDEX oauth_code_expires ON oauth_code (expires_ms);

CREATE TABLE oauth_refresh_token (
    token_hash BYTEA NOT NULL PRIMARY KEY,
    -- Client, consent and patient are those of the family's first token.
    family TEXT NOT NULL,
    scope TEXT NOT NULL,
    refresh_until_ms BIGINT NOT NULL,
    replaced_ms BIGINT
);
CREATE INDEX oauth_refresh_token_family ON oauth_refresh_token (family);
CREATE INDEX oauth_refresh_token_until ON oauth_refresh_token (refresh_until_ms);
