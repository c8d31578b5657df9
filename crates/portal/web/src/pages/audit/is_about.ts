// Per-patient review of the audit log is done by the reader, on the two entities of an entry.

import type { AuditEntry } from "../../api/types";

/** Whether an entry is about an entity. */
export function isAbout(entry: AuditEntry, id: string): boolean {
  return entry.primary_entity_id === id || entry.secondary_entity_id === id;
}
