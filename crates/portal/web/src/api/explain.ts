// What went wrong, in words for the person at the screen: what it is and what to do about it. The server's own sentence
// is the fallback, so that a new code is never silent.

import { ApiError, Unreachable } from "./client";

const SENTENCES: Record<string, string> = {
  group_has_patients: "This study still has patients. Move or erase them first.",
  last_group: "This is the only study that holds the patient. Add the patient to another one first, or erase them.",
  last_manager: "Somebody has to manage this study. Add another researcher first.",
  bracelet_attached: "Somebody wears this bracelet. Take it off their record first.",
  patient_not_confirmed: "The voucher has not been used yet, so there is no password to reset.",
  duplicate_email: "Somebody else has this e-mail address.",
  duplicate_serial_number: "A bracelet with this serial number is registered already.",
  invalid_credentials: "E-mail or password is not right.",
  csrf: "Somebody has signed in again in another tab. Try once more.",
  totp_is_set: "There is a second factor already. Turn it off first.",
  view_only: "A wall display can only look. Sign in as usual to change something.",
};

export function explain(error: unknown): string {
  if (error instanceof Unreachable) return "The server cannot be reached. Nothing was changed; try again in a moment.";
  if (!(error instanceof ApiError)) return error instanceof Error ? sentence(error.message) : "Something went wrong.";
  const known = SENTENCES[error.code];
  if (known) return known;
  const wrong = Object.entries(error.fields).map(
    ([field, what]) => `${fieldWords(field)} ${what[0] ?? "is not valid"}`,
  );
  if (wrong.length > 0) return sentence(wrong.join("; "));
  if (error.status === 403) return `You have no right to do this (${error.message}).`;
  if (error.status === 429) return `Too soon. Try again in ${waitWords(error.retryAfterS ?? 60)}.`;
  if (error.status === 503)
    return "The service is busy or a database is away. Nothing was changed; try again in a moment.";
  if (error.status >= 500)
    return "Something went wrong on the server. Nothing was lost; the server's log has the reason.";
  return sentence(error.message);
}

/** The path of a field in words: `alarms.0.for_s` is "alarm 1, for s". Places are counted from one, as on the screen. */
function fieldWords(path: string): string {
  const words: string[] = [];
  for (const part of path.split(".")) {
    const list = words.at(-1);
    if (/^\d+$/.test(part) && list) words[words.length - 1] = `${list.replace(/s$/, "")} ${Number(part) + 1}`;
    else words.push(part.replaceAll("_", " "));
  }
  return words.join(", ");
}

/** Seconds as "40 s" or "5 min". */
export function waitWords(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
