-- The audit log is read in pages: somebody's entries by time and number, from any place on.

DROP INDEX audit_entry_user;
DROP INDEX audit_entry_primary;
DROP INDEX audit_entry_secondary;
CREATE INDEX audit_entry_user ON audit_entry (user_id, time_ms, number);
CREATE INDEX audit_entry_primary ON audit_entry (primary_entity_id, time_ms, number);
CREATE INDEX audit_entry_secondary ON audit_entry (secondary_entity_id, time_ms, number);
