// What a form has changed: only that is sent, so that two people who edit different fields do not undo each other.

export type Values = Record<string, string>;

/** The fields whose text differs; an emptied one is null, those named in `numbers` become numbers. */
export function changedFields(before: Values, after: Values, numbers: string[] = []): Record<string, string | number | null> {
  const changes: Record<string, string | number | null> = {};
  for (const [name, text] of Object.entries(after)) {
    const trimmed = text.trim();
    if (trimmed === (before[name] ?? "")) continue;
    if (trimmed === "") changes[name] = null;
    else changes[name] = numbers.includes(name) ? Number(trimmed.replace(",", ".")) : trimmed;
  }
  return changes;
}

/** The fields of a record as texts for a form; what is absent is empty. */
export function formValues<N extends string>(record: object, names: readonly N[]): Record<N, string> {
  const values = record as Record<string, unknown>;
  return Object.fromEntries(names.map((name) => [name, values[name] === undefined || values[name] === null ? "" : String(values[name])])) as Record<N, string>;
}
