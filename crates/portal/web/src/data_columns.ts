// What the declared columns say of a name such as `activity.bpm`.

import { DATA_TYPES, type DataColumn } from "./data_types";

/** The column of a name; none when no type has it, as those of scores. */
export function columnOf(name: string): DataColumn | undefined {
  const [type, column] = name.split(".");
  return DATA_TYPES.find(({ value }) => value === type)?.columns[column ?? ""];
}

/** The unit of a column; empty when it has none. */
export function unitOf(name: string): string {
  return columnOf(name)?.unit ?? "";
}
