-- When a patient's last sync was stored, for the board of a study.
ALTER TABLE patient ADD COLUMN last_sync_ms BIGINT;
