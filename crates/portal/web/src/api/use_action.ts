// Changing something through the API from a form or a button: runs once at a time and keeps what went wrong, by field
// where the server says so.

import { useRef, useState } from "preact/hooks";
import { ApiError } from "./client";
import { explain } from "./explain";

export interface Action<A extends unknown[]> {
  run: (...args: A) => Promise<boolean>;
  busy: boolean;
  /** A sentence for the person, or null. */
  failed: string | null;
  /** What is wrong with a field, by its name. */
  fields: Record<string, string>;
  clear: () => void;
}

/** Wraps `work`; `run` says whether it went through. */
export function useAction<A extends unknown[]>(work: (...args: A) => Promise<unknown>): Action<A> {
  const [busy, setBusy] = useState(false);
  // `busy` is what was drawn last: two presses before the next drawing would both find it false, and both would be sent.
  const running = useRef(false);
  const [failed, setFailed] = useState<string | null>(null);
  const [fields, setFields] = useState<Record<string, string>>({});

  const clear = () => {
    setFailed(null);
    setFields({});
  };

  const run = async (...args: A): Promise<boolean> => {
    if (running.current) return false;
    running.current = true;
    clear();
    setBusy(true);
    try {
      await work(...args);
      return true;
    } catch (error) {
      setFailed(explain(error));
      if (error instanceof ApiError) setFields(firstOfEach(error.fields));
      return false;
    } finally {
      running.current = false;
      setBusy(false);
    }
  };

  return { run, busy, failed, fields, clear };
}

function firstOfEach(fields: Record<string, string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, what]) => [name, what[0] ?? "not valid"]));
}
