// An export from the wish to the archive. The server begins one per patient in five minutes, so a wish may have to wait.

import type { Export, ListedExport } from "../../api/types";

export type JobState = "waiting" | "in_progress" | "done" | "failed";

/** What is asked of the server. Local dates and times of the patient, both ends included. */
export interface ExportWish {
  types: string[];
  client_date_from: string;
  client_date_to: string;
  format: "csv" | "parquet";
}

export interface Job {
  /** Ours, from the start; the server's id comes with its answer. */
  key: string;
  /** The study whose page it was wanted on. */
  code: string;
  uuid: string;
  wish: ExportWish;
  state: JobState;
  wanted_at: number;
  id?: string;
  /** When the server began it, by our clock: a list that was asked for before does not have it. */
  begun_at?: number;
  /** Not to be asked for before this. */
  not_before?: number;
  error?: string;
}

/** What the server says of a job that it has begun. */
export function answered(job: Job, answer: Export, now: number): Job {
  return { ...job, id: answer.id, state: answer.status, error: answer.error, begun_at: now, not_before: undefined };
}

/** An export of the server's list. */
function jobOf(code: string, row: ListedExport): Job {
  const { types, client_date_from, client_date_to, format } = row;
  return {
    key: row.id,
    id: row.id,
    code,
    uuid: row.patient,
    wish: { types, client_date_from, client_date_to, format },
    state: row.status,
    wanted_at: Date.parse(row.created_at),
    error: row.error,
  };
}

/**
 * The jobs of a study by the list of exports that the server had when it was asked at `asked_at`: what it has begun is as
 * the list says, and gone when it is not there; what it has not begun stays, newest first.
 */
export function listed(jobs: Job[], code: string, rows: ListedExport[], asked_at: number): Job[] {
  const known = new Set(rows.map((row) => row.id));
  const isOurs = (job: Job) => job.code !== code || !job.id || (!known.has(job.id) && (job.begun_at ?? 0) >= asked_at);
  const all = [...jobs.filter(isOurs), ...rows.map((row) => jobOf(code, row))];
  return all.sort((a, b) => b.wanted_at - a.wanted_at);
}

/** The next job to send: the first that waits and whose time has come. */
export function nextToSend(jobs: Job[], now: number): Job | undefined {
  return jobs.find((job) => job.state === "waiting" && (job.not_before ?? 0) <= now);
}

/** A day and a time of day as the API writes the beginning of a range. */
export function rangeStart(day: string, time: string): string {
  return `${day}T${time.padStart(5, "0")}:00.000`;
}

/** The same for an end, which includes its whole minute: a form that says 23:59 means the day to its last sample. */
export function rangeEnd(day: string, time: string): string {
  return `${day}T${time.padStart(5, "0")}:59.999`;
}

/** How many of the jobs have come to their end, and how many there are. */
export function progress(jobs: Job[]): { ended: number; all: number } {
  return { ended: jobs.filter((job) => job.state === "done" || job.state === "failed").length, all: jobs.length };
}
