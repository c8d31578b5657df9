// Runs a tab's exports: sends what waits, asks how far they are, and remembers them until the tab is closed, since the
// API keeps no list of them. They go on, too, while another page is shown.

import { useEffect, useState } from "preact/hooks";
import { ApiError, call, get, Unreachable } from "../../api/client";
import { explain } from "../../api/explain";
import * as paths from "../../api/paths";
import { useOwnSession } from "../../api/session";
import type { Export } from "../../api/types";
import { answered, nextToSend, type ExportWish, type Job } from "./jobs";

export interface Exports {
  jobs: Job[];
  want: (uuids: string[], wish: ExportWish) => void;
  forget: (key: string) => void;
}

const LOOK_EVERY_MS = 3_000;
/** So many are asked about at a time, to stay within the limit of requests. */
const AT_A_TIME = 3;

let jobs: Job[] = [];
let owner = "";
let timer: number | undefined;
const listeners = new Set<(now: Job[]) => void>();

function become(next: Job[]): void {
  jobs = next;
  try {
    sessionStorage.setItem(keyOf(owner), JSON.stringify(jobs));
  } catch {
    // Then they are forgotten with the page.
  }
  listeners.forEach((listener) => listener(jobs));
}

function keyOf(account: string): string {
  return `pulseward-exports-${account}`;
}

function remembered(account: string): Job[] {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(account)) ?? "[]") as Job[];
  } catch {
    return [];
  }
}

function replace(job: Job): void {
  become(jobs.map((one) => (one.key === job.key ? job : one)));
}

async function send(job: Job): Promise<void> {
  try {
    replace(answered(job, await call<Export>("POST", paths.createExport(job.uuid), job.wish)));
  } catch (error) {
    if (error instanceof Unreachable) return;
    if (error instanceof ApiError && error.status === 429)
      return replace({ ...job, not_before: Date.now() + (error.retryAfterS ?? 60) * 1_000 });
    replace({ ...job, state: "failed", error: explain(error) });
  }
}

async function look(job: Job): Promise<void> {
  try {
    replace(answered(job, await get<Export>(paths.exportStatus(job.id!))));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404)
      replace({ ...job, state: "failed", error: "It is gone: archives are kept for a while only." });
  }
}

async function turn(): Promise<void> {
  const next = nextToSend(jobs, Date.now());
  if (next) await send(next);
  const running = jobs.filter((job) => job.state === "in_progress").slice(0, AT_A_TIME);
  await Promise.all(running.map(look));
  const open = jobs.some((job) => job.state === "waiting" || job.state === "in_progress");
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
    goOn();
    return () => void listeners.delete(setNow);
  }, [account.uuid]);

  const want = (uuids: string[], wish: ExportWish) => {
    const wanted_at = Date.now();
    const more = uuids.map((uuid, i): Job => ({
      key: `${wanted_at}-${i}`,
      code,
      uuid,
      wish,
      state: "waiting",
      wanted_at,
    }));
    become([...more, ...jobs]);
    goOn();
  };
  return {
    jobs: now.filter((job) => job.code === code),
    want,
    forget: (key) => become(jobs.filter((job) => job.key !== key)),
  };
}
