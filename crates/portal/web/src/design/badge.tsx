// A state in a word: always with its text, the colour only helps to find it.

import type { ComponentChildren } from "preact";

export type Tone = "plain" | "good" | "note" | "warn" | "bad";

export function Badge({ tone = "plain", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** A sentence that must be seen before going on. */
export function Notice({
  tone = "note",
  children,
  alert,
}: {
  tone?: Tone;
  children: ComponentChildren;
  alert?: boolean;
}) {
  return (
    <div class={`notice ${tone}`} role={alert ? "alert" : undefined}>
      {children}
    </div>
  );
}
