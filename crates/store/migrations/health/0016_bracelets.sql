-- Whether the bracelet of a patient charges, is worn and is heard of, by the newest samples that say it; JSON with a checksum.
ALTER TABLE patient ADD COLUMN bracelet BYTEA;
-- When to look whether a bracelet has fallen silent. Not moved by each sync, which would write to the index: the look that
-- finds it heard meanwhile puts it off.
ALTER TABLE patient ADD COLUMN silence_look_ms BIGINT;
CREATE INDEX patient_silence_look ON patient (silence_look_ms) WHERE silence_look_ms IS NOT NULL;

-- When a sync last named the bracelet; absent where only the inventory of a study has. What a sync alone writes shows which rows of
-- before are of syncs; the others are seen with their next one.
ALTER TABLE device ADD COLUMN seen_ms BIGINT;
UPDATE device SET seen_ms = updated_ms WHERE battery_level IS NOT NULL OR device_type IS NULL;
