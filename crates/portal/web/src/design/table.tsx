// A list: sorted by a click on its head, narrowed by words, had as CSV, and copied as the curl command that asks the API
// for it. On a phone each row becomes a card whose cells name themselves; where there are many columns, on a tablet, too.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type Cell, csvText, download } from "../csv";
import { count, number } from "../format";
import { Button } from "./button";
import { CurlButton } from "./copy_button";
import { Icon } from "./icon";
import { filterRows, type Order, sortRows } from "./list";
import { useMedia } from "./media";

export interface Column<T> {
  key: string;
  title: string;
  /** What sorting, filtering and the CSV go by. */
  value: (row: T) => Cell;
  /** What is shown; the value if left out. */
  cell?: (row: T) => ComponentChildren;
  /** For numbers. */
  end?: boolean;
  /** In the CSV but not on the screen. */
  csvOnly?: boolean;
  /** Buttons: not in the CSV, no head to sort by. */
  controls?: boolean;
}

interface TableProps<T> {
  /** What the rows are, for the screen reader and the count: "patient". */
  noun: string;
  nouns?: string;
  rows: T[];
  columns: Column<T>[];
  rowKey: (row: T) => string;
  /** File name of the CSV without its ending. */
  file: string;
  /** Address of the API that answers the same. */
  curl?: string;
  order?: Order;
  /** More controls next to the filter. */
  tools?: ComponentChildren;
  /** Left out for short lists that need no filter. */
  filter?: boolean;
}

// A browser stalls while it lays out thousands of rows. The filter, the order and the file have them all.
const STEP = 200;

/** Screens on which rows are cards: phones, and tablets where there are more columns than fit there. */
const PHONE = "(max-width: 44rem)";
const TABLET = "(max-width: 60rem)";
const MANY_COLUMNS = 5;

export function Table<T>({
  noun,
  nouns,
  rows,
  columns,
  rowKey,
  file,
  curl,
  order: first,
  tools,
  filter = true,
}: TableProps<T>) {
  const [text, setText] = useState("");
  const [order, setOrder] = useState<Order | null>(first ?? null);
  const [shown, setShown] = useState(STEP);
  const data = columns.filter((column) => !column.controls);
  const onScreen = columns.filter((column) => !column.csvOnly);

  const hasCards = useMedia(onScreen.length > MANY_COLUMNS ? TABLET : PHONE);

  const chosen = useMemo(() => {
    const found = filterRows(rows, text, (row) => data.map((column) => column.value(row)));
    const by = order && columns.find((column) => column.key === order.key);
    return by ? sortRows(found, by.value, order.direction) : found;
  }, [rows, text, order, columns]);

  const asCsv = () =>
    download(
      `${file}.csv`,
      csvText(
        data.map((column) => column.title),
        chosen.map((row) => data.map((column) => column.value(row))),
      ),
    );

  return (
    <div class="table-block">
      <div class="table-tools row">
        {filter && (
          <label class="filter">
            <Icon name="search" />
            <span class="unseen">Filter {nouns ?? `${noun}s`}</span>
            <input
              type="search"
              placeholder="Filter"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
        )}
        {tools}
        <span class="small soft push" role="status">
          {chosen.length === rows.length
            ? count(rows.length, noun, nouns)
            : `${number(chosen.length)} of ${count(rows.length, noun, nouns)}`}
        </span>
        {curl && <CurlButton path={curl} />}
        <Button kind="quiet" small icon="download" onClick={asCsv}>
          CSV
        </Button>
      </div>
      <div class={hasCards ? "table-scroll cards" : "table-scroll"}>
        {/* The roles are here in words because cards take the table's display away, and some browsers its meaning along. */}
        <table role="table">
          <caption class="unseen">{nouns ?? `${noun}s`}</caption>
          <thead role="rowgroup">
            <tr role="row">
              {onScreen.map((column) => (
                <Head key={column.key} column={column} order={order} onOrder={setOrder} />
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {chosen.slice(0, shown).map((row) => (
              <tr role="row" key={rowKey(row)}>
                {onScreen.map((column) => (
                  <td
                    role="cell"
                    key={column.key}
                    data-label={column.controls ? undefined : column.title}
                    class={classOf(column)}
                  >
                    {column.cell ? column.cell(row) : column.value(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {chosen.length === 0 && <p class="soft none">Nothing fits “{text}”.</p>}
      {chosen.length > shown && (
        <Button onClick={() => setShown(shown + STEP)}>
          Show {Math.min(STEP, chosen.length - shown)} more of {number(chosen.length - shown)}
        </Button>
      )}
    </div>
  );
}

function classOf<T>(column: Column<T>): string | undefined {
  if (column.controls) return "controls";
  return column.end ? "number" : undefined;
}

function Head<T>({
  column,
  order,
  onOrder,
}: {
  column: Column<T>;
  order: Order | null;
  onOrder: (order: Order) => void;
}) {
  if (column.controls) {
    return (
      <th role="columnheader" scope="col">
        <span class="unseen">{column.title}</span>
      </th>
    );
  }
  const mine = order?.key === column.key ? order : null;
  return (
    <th
      role="columnheader"
      scope="col"
      class={column.end ? "number" : undefined}
      aria-sort={mine ? (mine.direction === "down" ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        onClick={() => onOrder({ key: column.key, direction: mine?.direction === "up" ? "down" : "up" })}
      >
        {column.title}
        {mine && <Icon name={mine.direction} size={12} />}
      </button>
    </th>
  );
}
