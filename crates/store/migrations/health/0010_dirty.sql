-- A sync's event names the ranges that it touched, so the event is the mark of what is to be derived: the patient's row
-- says up to which event that is done, and when the patient is ready next.
ALTER TABLE patient ADD COLUMN derive_ready_ms BIGINT;
ALTER TABLE patient ADD COLUMN derived_through BIGINT NOT NULL DEFAULT 0;
-- Syncs are numbered by their events from now on; rows that are there keep lower numbers.
UPDATE patient SET events = arrivals, derived_through = arrivals,
    derive_ready_ms = (SELECT MIN(ready_ms) FROM due WHERE due.patient = patient.uuid);
CREATE INDEX patient_derive_ready ON patient (derive_ready_ms) WHERE derive_ready_ms IS NOT NULL;
DROP INDEX due_ready;
DROP TABLE sync;
