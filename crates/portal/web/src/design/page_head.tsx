// The head of a page: its one h1, a sentence about it, and what can be done here.

import type { ComponentChildren } from "preact";

export function PageHead({
  title,
  note,
  tools,
}: {
  title: ComponentChildren;
  note?: ComponentChildren;
  tools?: ComponentChildren;
}) {
  return (
    <div class="page-head">
      <div>
        <h1>{title}</h1>
        {note && <p class="soft">{note}</p>}
      </div>
      {tools && <div class="row">{tools}</div>}
    </div>
  );
}

/** Of a list, a form, a part of a page. */
export function Panel({
  title,
  note,
  tools,
  children,
}: {
  title: string;
  note?: ComponentChildren;
  tools?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="panel">
      <header>
        <div>
          <h2>{title}</h2>
          {note && <p class="soft small">{note}</p>}
        </div>
        {tools && <div class="row">{tools}</div>}
      </header>
      {children}
    </section>
  );
}
