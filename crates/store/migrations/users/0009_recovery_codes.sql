-- Recovery codes of a second factor: each signs in once, in the place of a code of the app.
CREATE TABLE recovery_code (
    account TEXT NOT NULL REFERENCES account (uuid),
    -- SHA-256 of account and code. A code has 80 random bits.
    hash BYTEA NOT NULL,
    PRIMARY KEY (account, hash)
) /*clustered*/;
