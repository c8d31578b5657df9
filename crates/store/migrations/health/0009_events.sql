-- The event log: what happened, written in the transaction in which it happened.

-- One row: which store this is, and where its log begins.
CREATE TABLE store_epoch (
    -- Random name of the store's life; a cursor of another one means nothing here.
    epoch TEXT NOT NULL,
    -- Added to the transaction numbers of PostgreSQL, so that positions never fall when the rows move to a server that
    -- counts from a lower number.
    position_offset BIGINT NOT NULL,
    -- Events before this position may have been deleted.
    retained_from BIGINT NOT NULL
);
INSERT INTO store_epoch (epoch, position_offset, retained_from) VALUES (
    /*sqlite lower(hex(randomblob(16))) sqlite*/
    /*postgres replace(gen_random_uuid()::text, '-', '') postgres*/, 0, 0);

CREATE TABLE event (
    -- Order of the log; see src/events/mod.rs for why a reader misses nothing.
    position /*sqlite INTEGER PRIMARY KEY AUTOINCREMENT sqlite*/ /*postgres BIGINT NOT NULL postgres*/,
    -- The subject's uuid; empty for a message about no patient.
    patient TEXT NOT NULL,
    -- Counts the events of the patient in this database, from 1; of a message about no patient, a hash of its name.
    sequence BIGINT NOT NULL,
    time_ms BIGINT NOT NULL,
    type TEXT NOT NULL,
    -- JSON, without any personal datum.
    body TEXT NOT NULL,
    -- What the other database is still owed: JSON; absent once it is delivered. Such an event is no reader's business.
    message TEXT,
    -- The app's own name for a sync, and the hash of what it sent.
    sync_id TEXT,
    content_hash BYTEA
);
CREATE UNIQUE INDEX event_patient ON event (patient, sequence);
CREATE UNIQUE INDEX event_sync ON event (patient, sync_id) WHERE sync_id IS NOT NULL;
CREATE INDEX event_message ON event (patient, sequence) WHERE message IS NOT NULL;
/*postgres CREATE INDEX event_position ON event (position, patient, sequence); postgres*/

-- How many events the patient has, and the position of the last one.
ALTER TABLE patient ADD COLUMN events BIGINT NOT NULL DEFAULT 0;
ALTER TABLE patient ADD COLUMN event_position BIGINT NOT NULL DEFAULT 0;

-- The position at which the running transaction writes; 0 where the engine numbers rows as they are inserted.
CREATE VIEW event_clock AS
    /*sqlite SELECT 0 AS position sqlite*/
    /*postgres SELECT pg_current_xact_id()::text::bigint + position_offset AS position FROM store_epoch postgres*/;
-- The first position at which something can still be written.
CREATE VIEW event_horizon AS
    /*sqlite SELECT COALESCE(MAX(position), 0) + 1 AS position FROM event sqlite*/
    /*postgres SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + position_offset AS position
        FROM store_epoch postgres*/;
-- The first position that no running transaction can have.
CREATE VIEW event_next AS
    /*sqlite SELECT COALESCE(MAX(position), 0) + 1 AS position FROM event sqlite*/
    /*postgres SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint + position_offset AS position
        FROM store_epoch postgres*/;

-- Whether the audit entry of an export is written. Nobody works on it before.
ALTER TABLE export_job ADD COLUMN is_audited BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE export_job SET is_audited = TRUE WHERE owed_entry IS NULL;
ALTER TABLE export_job DROP COLUMN owed_entry;
