// What a form has changed: only that is sent, so that two people who edit different fields do not undo each other.

export type Values = Record<string, string>;

/**
 * The fields whose text differs; those named in `numbers` become numbers. An emptied one is null, by which the server
 * takes it away.
 */
export function changedFields(
  before: Values,
  after: Values,
  numbers: string[] = [],
): Record<string, string | number | null> {
  const changes: Record<string, string | number | null> = {};
  for (const [name, text] of Object.entries(after)) {
    const trimmed = text.trim();
    if (trimmed === (before[name] ?? "")) continue;
    if (trimmed === "") changes[name] = null;
    else changes[name] = numbers.includes(name) ? numberOf(trimmed) : trimmed;
  }
  return changes;
}

/** The fields of a record as texts for a form; what is absent is empty. */
export function formValues<N extends string>(record: object, names: readonly N[]): Record<N, string> {
  const values = record as Record<string, unknown>;
  return Object.fromEntries(
    names.map((name) => [name, values[name] === undefined || values[name] === null ? "" : String(values[name])]),
  ) as Record<N, string>;
}

/** A number with a point or a comma; what is none stays as it is, for the server to refuse. */
export function numberOf(text: string): number | string {
  const number = Number(text.replace(",", "."));
  return Number.isNaN(number) ? text : number;
}
