// The ward board: every patient of a study, the sickest first, alive while one looks at it.

import { useMemo, useState } from "preact/hooks";
import { patients } from "../../api/paths";
import { csvText, download } from "../../csv";
import { Button, ButtonLink } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { EmptyState } from "../../design/empty_state";
import { Icon } from "../../design/icon";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { useNow } from "../../design/time";
import type { PageProps } from "../../page_props";
import { setQuery, stepQuery, useAddress } from "../../router";
import { useStudy } from "../../studies";
import * as pages from "../paths";
import { BOARD_CSV_HEADER, boardCsvRow } from "./board_csv";
import { BoardList, HEADS } from "./board_list";
import { DataAge, LineSign } from "./line_sign";
import { type Attention, arranged, counts, firstDirection, type Sort, type SortKey } from "./rows";
import type { Row } from "./types";
import { useBoard } from "./use_board";
import { WallDisplay } from "./wall_display";

const FILTERS: { key: Attention; text: string }[] = [
  { key: "all", text: "All" },
  { key: "attention", text: "Needs a look" },
  { key: "missing", text: "No score" },
  { key: "stale", text: "Outdated" },
  { key: "not_worn", text: "Not worn" },
];

export default function Page({ params: { code } }: PageProps) {
  const { rows, line, error } = useBoard(code);
  const { query } = useAddress();
  const study = useStudy(code);
  if (error) return <Problem error={error} />;
  if (!rows) return <Skeleton lines={12} />;
  if (query.get("wall") !== null) return <WallDisplay code={code} name={study?.name ?? code} rows={rows} line={line} />;
  if (rows.length === 0) return <NobodyYet code={code} />;
  return <Board code={code} rows={rows} line={line} />;
}

function Board({ code, rows, line }: { code: string; rows: Row[]; line: ReturnType<typeof useBoard>["line"] }) {
  const { query } = useAddress();
  const now = useNow(30);
  const [text, setText] = useState(query.get("q") ?? "");
  // A mistyped filter must not empty a ward's board.
  const attention = FILTERS.find(({ key }) => key === query.get("show"))?.key ?? "all";
  const sort = sortOf(query);
  const shown = useMemo(
    () => arranged(rows, { text, attention }, sort, now),
    [rows, text, attention, sort.key, sort.descending, now],
  );
  const many = useMemo(() => counts(rows, now), [rows, now]);

  return (
    <div class="board-page">
      <h1 class="unseen">Ward board</h1>
      <div class="board-tools">
        <label class="filter">
          <Icon name="search" />
          <span class="unseen">Find a patient</span>
          <input
            type="search"
            placeholder="Find a patient"
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setQuery({ q: event.currentTarget.value });
            }}
          />
        </label>
        <div class="segments" role="group" aria-label="Show">
          {FILTERS.map(({ key, text: name }) => (
            <button
              type="button"
              key={key}
              aria-pressed={attention === key}
              onClick={() => setQuery({ show: key === "all" ? null : key })}
            >
              {name} <span class="many">{many[key]}</span>
            </button>
          ))}
        </div>
        <SortChoice sort={sort} onSort={chooseSort} />
        <span class="row push">
          <DataAge rows={rows} nowMs={now} />
          <LineSign line={line} />
          <Button kind="quiet" small icon="screen" onClick={() => stepQuery({ wall: "1" })}>
            Wall display
          </Button>
          <CurlButton path={`${patients(code)}?with_latest_values=1`} />
          <Button
            kind="quiet"
            small
            icon="download"
            onClick={() => download(`board-${code}.csv`, csvText(BOARD_CSV_HEADER, shown.map(boardCsvRow)))}
          >
            CSV
          </Button>
        </span>
      </div>
      <BoardList code={code} rows={shown} sort={sort} onSort={chooseSort} />
      {shown.length === 0 && (
        <EmptyState
          icon="search"
          title="No patient fits"
          action={
            <Button
              onClick={() => {
                setText("");
                setQuery({ q: null, show: null });
              }}
            >
              Show all {rows.length}
            </Button>
          }
        />
      )}
      <p class="unseen" role="status">
        {shown.length} of {rows.length} patients shown
      </p>
    </div>
  );
}

/** On a phone there are no heads to press. */
function SortChoice({ sort, onSort }: { sort: Sort; onSort(sort: Sort): void }) {
  return (
    <label class="sort-choice">
      <span class="small soft">Sort by</span>
      <select
        value={sort.key}
        onChange={(event) => {
          const key = event.currentTarget.value as SortKey;
          onSort({ key, descending: firstDirection(key) });
        }}
      >
        {HEADS.map(({ key, text }) => key && <option value={key}>{text}</option>)}
      </select>
    </label>
  );
}

function NobodyYet({ code }: { code: string }) {
  return (
    <EmptyState
      icon="person"
      title="Nobody is in this study yet"
      action={
        <ButtonLink kind="primary" icon="plus" href={pages.vouchers(code)}>
          Create vouchers
        </ButtonLink>
      }
    >
      Hand each patient a voucher. As soon as the voucher is used in the app and the bracelet has synced, the patient
      appears here with live values.
    </EmptyState>
  );
}

/** The order that an address names, `news.down`. What cannot be read of it is as if it were not there. */
function sortOf(query: URLSearchParams): Sort {
  const [name, direction] = (query.get("sort") ?? "").split(".");
  const key = HEADS.find((head) => head.key === name)?.key ?? "news";
  const isNamed = key === name && (direction === "up" || direction === "down");
  return { key, descending: isNamed ? direction === "down" : firstDirection(key) };
}

function chooseSort({ key, descending }: Sort): void {
  setQuery({ sort: `${key}.${descending ? "down" : "up"}` });
}
