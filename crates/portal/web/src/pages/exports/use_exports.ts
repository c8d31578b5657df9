// Runs a tab's exports: sends what waits, and shows the list that the service keeps. What waits is remembered until the tab
// is closed, since the service does not know of it. They go on, too, while another page is shown.

import { useEffect, useState } from "preact/hooks";
import { ApiError, call, get, Unreachable } from "../../api/client";
import { explain } from "../../api/explain";
import * as paths from "../../api/paths";
import { useOwnSession, whenPersonChanges } from "../../api/session";
import type { Export, ListedExport } from "../../api/types";
import { waitSeconds } from "../../api/wait";
import { answered, type ExportWish, type Job, listed, nextToSend } from "./jobs";

export interface Exports {
  jobs: Job[];
  want: (uuids: string[], wish: ExportWish) => void;
  forget: (key: string) => void;
}

const LOOK_EVERY_MS = 3_000;

let jobs: Job[] = [];
/** Whose they are; nobody's while nobody is signed in. */
let owner = "";
/** Counts the people: what was begun for one must not go on for the next. */
let person = 0;
let timer: number | undefined;
const listeners = new Set<(now: Job[]) => void>();

// Waiting exports would else be begun in the name of the next person to sign in.
whenPersonChanges(() => {
  clearTimeout(timer);
  timer = undefined;
  person += 1;
  owner = "";
  jobs = [];
});

function become(next: Job[]): void {
  jobs = next;
  remember(owner, jobs);
  for (const listener of listeners) listener(jobs);
}

function keyOf(account: string): string {
  return `pulseward-exports-${account}`;
}

function remember(account: string, theirs: Job[]): void {
  try {
    // Of what was begun the service has the list.
    const wishes = theirs.filter((job) => !job.id);
    if (wishes.length > 0) sessionStorage.setItem(keyOf(account), JSON.stringify(wishes));
    else sessionStorage.removeItem(keyOf(account));
  } catch {
    // Then they are forgotten with the page.
  }
}

function remembered(account: string): Job[] {
  try {
    const theirs: unknown = JSON.parse(sessionStorage.getItem(keyOf(account)) ?? "[]");
    return Array.isArray(theirs) ? (theirs as Job[]) : [];
  } catch {
    return [];
  }
}

/** Puts a job of an account in the place of what it was, also when that account has left meanwhile. */
function replace(account: string, job: Job): void {
  const withJob = (theirs: Job[]) => theirs.map((one) => (one.key === job.key ? job : one));
  if (account === owner) become(withJob(jobs));
  else remember(account, withJob(remembered(account)));
}

async function send(account: string, job: Job): Promise<void> {
  try {
    const answer = await call<Export>("POST", paths.createExport(job.uuid), job.wish);
    replace(account, answered(job, answer, Date.now()));
  } catch (error) {
    // Without a connection or a session nothing was decided: it is sent when there is one again.
    if (error instanceof Unreachable || (error instanceof ApiError && error.status === 401)) return;
    const waitS = waitSeconds(error);
    if (waitS !== null) return replace(account, { ...job, not_before: Date.now() + waitS * 1_000 });
    replace(account, { ...job, state: "failed", error: explain(error) });
  }
}

/** Reads the list of a study's exports, unless somebody else is signed in by the time it comes. */
async function read(code: string): Promise<void> {
  const [mine, askedAt] = [person, Date.now()];
  try {
    const rows = await get<ListedExport[]>(paths.exports(code));
    if (mine === person) become(listed(jobs, code, rows, askedAt));
  } catch {
    // It is asked for again while anything is under way, and with the page.
  }
}

async function turn(): Promise<void> {
  const [account, mine] = [owner, person];
  const next = nextToSend(jobs, Date.now());
  if (next) await send(account, next);
  if (mine !== person) return;
  const running = new Set(jobs.filter((job) => job.state === "in_progress").map((job) => job.code));
  await Promise.all([...running].map(read));
  if (mine !== person) return;
  const open = jobs.some((job) => job.state === "waiting" || job.state === "in_progress");
  // Sooner while there are more to send: of a whole study nobody waits three seconds for each patient.
  timer = open ? window.setTimeout(turn, next ? LOOK_EVERY_MS / 4 : LOOK_EVERY_MS) : undefined;
}

function goOn(): void {
  timer ??= window.setTimeout(turn, 0);
}

export function useExports(code: string): Exports {
  const { account } = useOwnSession();
  const [now, setNow] = useState<Job[]>([]);
  useEffect(() => {
    if (owner !== account.uuid) {
      owner = account.uuid;
      jobs = remembered(owner);
    }
    listeners.add(setNow);
    setNow(jobs);
    void read(code).then(goOn);
    return () => void listeners.delete(setNow);
  }, [account.uuid, code]);

  const want = (uuids: string[], wish: ExportWish) => {
    const wanted_at = Date.now();
    const more = uuids.map(
      (uuid, i): Job => ({
        key: `${wanted_at}-${i}`,
        code,
        uuid,
        wish,
        state: "waiting",
        wanted_at,
      }),
    );
    become([...more, ...jobs]);
    goOn();
  };
  return {
    jobs: now.filter((job) => job.code === code),
    want,
    forget: (key) => become(jobs.filter((job) => job.key !== key)),
  };
}
