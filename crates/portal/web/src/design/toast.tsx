// A short word that something is done. It is read out, goes by itself and is never the only place where something
// matters is said.

import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon";

interface Note {
  id: number;
  text: string;
}

const STAYS_MS = 5_000;
let notes: Note[] = [];
let next = 1;
const listeners = new Set<(now: Note[]) => void>();

function show(now: Note[]): void {
  notes = now;
  for (const listener of listeners) listener(notes);
}

/** Says that something is done. */
export function toast(text: string): void {
  const note = { id: next++, text };
  // Three at most: they lie over the page.
  show([...notes.slice(-2), note]);
  window.setTimeout(() => show(notes.filter((one) => one.id !== note.id)), STAYS_MS);
}

/** Where toasts appear. Once per page. */
export function Toasts() {
  const [now, setNow] = useState(notes);
  useEffect(() => {
    listeners.add(setNow);
    return () => void listeners.delete(setNow);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {now.map((note) => (
        <p key={note.id}>
          <Icon name="check" />
          {note.text}
        </p>
      ))}
    </div>
  );
}
