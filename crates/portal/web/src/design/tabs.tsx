// Parts of one page of which one is shown. Arrow keys move between the tabs, as screen reader users expect.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export interface Tab {
  key: string;
  title: string;
  content: () => ComponentChildren;
}

export function Tabs({
  label,
  tabs,
  chosen,
  onChoose,
}: {
  label: string;
  tabs: Tab[];
  chosen: string;
  onChoose: (key: string) => void;
}) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  // An address may name a part that is not there, or not there for this role.
  const at = Math.max(
    0,
    tabs.findIndex((tab) => tab.key === chosen),
  );

  useEffect(
    () => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    [at],
  );

  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (at + step + tabs.length) % tabs.length;
    onChoose(tabs[next].key);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next].focus();
  };

  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {/* One stop for the Tab key, the chosen one; arrows lead to the others. */}
        {tabs.map((tab, index) => (
          <button
            key={tab.key}
            type="button"
            role="tab"
            id={`${id}-${tab.key}`}
            aria-selected={index === at}
            aria-controls={`${id}-panel`}
            tabIndex={index === at ? 0 : -1}
            onClick={() => onChoose(tab.key)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tabs[at].key}`} key={tabs[at].key}>
        {tabs[at].content()}
      </div>
    </>
  );
}
