// How long raw data are kept, by data type; a type that is not named is kept for good.

export type Retention = Record<string, number>;

/** From the fields of a form: empty ones are left out. */
export function retentionOf(fields: Record<string, string>): Retention {
  const retention: Retention = {};
  for (const [type, text] of Object.entries(fields)) {
    const days = Number(text);
    if (text.trim() !== "" && Number.isInteger(days)) retention[type] = days;
  }
  return retention;
}

/** The types whose data will be kept for a shorter time than before, so that some of it goes. */
export function shorterRetention(before: Retention, after: Retention): string[] {
  return Object.keys(after).filter((type) => after[type] < (before[type] ?? Infinity));
}
