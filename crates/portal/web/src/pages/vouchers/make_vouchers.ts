// Enrols patients one after the other, within the server's limit of requests.

import { ApiError, call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Voucher } from "../../api/types";

/** The customer's identifiers in a text, one a line, without repeats. */
export function identifiersOf(text: string): string[] {
  return [
    ...new Set(
      text
        .split(/\r?\n/)
        .map((line) => line.trim())
        .filter(Boolean),
    ),
  ];
}

/** Makes `wanted` vouchers; the first ones get the identifiers. Reports how many there are after each. */
export async function makeVouchers(
  code: string,
  wanted: number,
  identifiers: string[],
  onMade: (made: number) => void,
  stopped: () => boolean,
): Promise<void> {
  for (let made = 0; made < wanted && !stopped(); ) {
    const voucher = await patiently(() => call<Voucher>("POST", paths.patients(code)));
    onMade(++made);
    const identifier = identifiers[made - 1];
    if (identifier)
      await patiently(() => call("PATCH", paths.patient(voucher.uuid), { external_patient_id: identifier }));
  }
}

/** Does it again after the time that the server asks for. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429) throw error;
      await new Promise((resume) => window.setTimeout(resume, (error.retryAfterS ?? 5) * 1_000));
    }
  }
}
