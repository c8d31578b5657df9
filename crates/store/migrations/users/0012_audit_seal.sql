-- The end of the audit log under a key that is not in the database: who may write here alone can then not cut the log and
-- set the end.

-- Code of the end of the log, over the identity of the store, number and hash of the last entry, and the seal. Absent in a
-- store of before until it is opened with its key.
ALTER TABLE audit_head ADD COLUMN mac BYTEA;
-- The public half of the key that signs checkpoints; it and the key of the code follow from one master key.
ALTER TABLE audit_head ADD COLUMN public_key BYTEA;
-- Since which entry, since when and by which act the key guards the log. Of what came before, the chain alone speaks.
ALTER TABLE audit_head ADD COLUMN sealed_from BIGINT;
ALTER TABLE audit_head ADD COLUMN sealed_ms BIGINT;
ALTER TABLE audit_head ADD COLUMN sealed_by TEXT;

-- Keys that guarded the log before: what they signed up to an entry stays good.
CREATE TABLE audit_key (
    public_key BYTEA NOT NULL PRIMARY KEY,
    until_number BIGINT NOT NULL,
    retired_ms BIGINT NOT NULL,
    -- Code of the row under the key of today.
    mac BYTEA NOT NULL
);
