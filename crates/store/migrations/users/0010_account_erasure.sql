-- Accounts that were erased since the database files were rewritten: unused parts of pages can keep copies of their rows.
CREATE TABLE account_erasure (
    account TEXT NOT NULL PRIMARY KEY,
    erased_ms BIGINT NOT NULL
) /*clustered*/;
