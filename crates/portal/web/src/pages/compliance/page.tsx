// Compliance: which patients sent how much of what was expected, by day; and of one patient and day, by type and hour.

import { useMemo, useState } from "preact/hooks";
import { dayCompliance, PORTAL } from "../../api/paths";
import { useResource } from "../../api/use_resource";
import { addDays, longDate } from "../../charts/zone";
import { csvText, download } from "../../csv";
import { Button } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { EmptyState } from "../../design/empty_state";
import { Icon } from "../../design/icon";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { isoDay } from "../../format";
import type { PageProps } from "../../page_props";
import { stepQuery, useAddress } from "../../router";
import * as pages from "../paths";
import { arrangedPatients, type PatientOrder } from "./arranged";
import { cellOf } from "./heat";
import { HeatMap, type HeatRow } from "./heat_map";
import { PatientDay } from "./patient_day";
import { shownOf } from "./shown";
import type { GroupCompliance, PatientDays } from "./types";

const DAYS = [7, 14, 28] as const;
/** Rows drawn at once: a table of all would be too much for a browser where a study is large. */
const STEP = 100;

export default function Page({ params: { code } }: PageProps) {
  const { query } = useAddress();
  const { from, to, days, date } = shownOf(query, isoDay(new Date()));
  const path = `${PORTAL}/groups/${encodeURIComponent(code)}/compliance?from=${from}&to=${to}`;
  const { data, error, reload } = useResource<GroupCompliance>(path);
  const patient = data?.patients.find((one) => one.uuid === query.get("patient"));
  return (
    <div class="compliance-page">
      <h1 class="unseen">Compliance</h1>
      <div class="row">
        <Button small icon="left" label="Days before" onClick={() => stepQuery({ to: addDays(to, -days) })} />
        <input
          type="date"
          aria-label="Last day"
          value={to}
          onChange={(event) => event.currentTarget.value && stepQuery({ to: event.currentTarget.value })}
        />
        <Button small icon="right" label="Days after" onClick={() => stepQuery({ to: addDays(to, days) })} />
        <div class="segments" role="group" aria-label="Days">
          {DAYS.map((count) => (
            <button
              type="button"
              key={count}
              aria-pressed={days === count}
              onClick={() => stepQuery({ days: String(count) })}
            >
              {count} d
            </button>
          ))}
        </div>
        <span class="small soft">Heart-rate data received, local days of each patient</span>
      </div>
      {error && <Problem error={error} onRetry={reload} />}
      {!data && !error && <Skeleton lines={10} />}
      {data && data.patients.length === 0 && (
        <EmptyState icon="person" title="Nobody is in this study yet">
          Compliance is counted from the first day of a patient.
        </EmptyState>
      )}
      {data && data.patients.length > 0 && (
        <>
          {patient && (
            <PatientDay
              code={code}
              uuid={patient.uuid}
              name={patient.name}
              date={date}
              onClose={() => stepQuery({ patient: null, date: null })}
            />
          )}
          <Days code={code} data={data} />
        </>
      )}
    </div>
  );
}

function Days({ code, data }: { code: string; data: GroupCompliance }) {
  const [text, setText] = useState("");
  const [order, setOrder] = useState<PatientOrder>("least");
  const [shown, setShown] = useState(STEP);
  const rows = useMemo(
    () => arrangedPatients(data.patients, text, order).map((one) => heatRow(code, data.days, one)),
    [code, data, text, order],
  );
  const columns = data.days.map((day) => ({ key: day, label: day.slice(8).replace(/^0/, ""), long: longDate(day) }));
  return (
    <section class="panel" aria-label="Patients by day">
      <div class="row heat-tools">
        <label class="filter">
          <Icon name="search" />
          <span class="unseen">Find a patient</span>
          <input
            type="search"
            placeholder="Find a patient"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <div class="segments" role="group" aria-label="Order">
          <button type="button" aria-pressed={order === "least"} onClick={() => setOrder("least")}>
            Least first
          </button>
          <button type="button" aria-pressed={order === "name"} onClick={() => setOrder("name")}>
            By name
          </button>
        </div>
        <span class="row push">
          {rows.length > 0 && (
            <CurlButton
              path={dayCompliance(
                rows.slice(0, shown).map((row) => row.key),
                data.days,
              )}
            />
          )}
          <Button kind="quiet" small icon="download" onClick={() => saveCsv(code, data)}>
            CSV
          </Button>
        </span>
      </div>
      <HeatMap
        label="Compliance of patients by day"
        corner="Patient"
        columns={columns}
        rows={rows.slice(0, shown)}
        openText="press for types and hours"
        onOpen={(row, column) => stepQuery({ patient: row.key, date: data.days[column]! })}
      />
      {rows.length > shown && (
        <Button onClick={() => setShown(shown + STEP)}>
          Show {Math.min(STEP, rows.length - shown)} more of {rows.length - shown}
        </Button>
      )}
    </section>
  );
}

/** A patient as a line of the heat map; the name leads to the charts. */
function heatRow(code: string, days: string[], one: PatientDays): HeatRow {
  return {
    key: one.uuid,
    label: one.name,
    head: (
      // The grid is one stop of the Tab key: a name in each row would be a hundred more.
      <a href={pages.patient(code, one.uuid)} tabIndex={-1}>
        {one.name}
      </a>
    ),
    cells: days.map((_, index) => ({
      ...cellOf(one.received[index] ?? null, one.expected[index] ?? null, one.percent[index] ?? null),
      unreadable: one.unreadable === true,
    })),
  };
}

function saveCsv(code: string, data: GroupCompliance): void {
  const rows = data.patients.flatMap((one) =>
    data.days.map((day, index) => [
      one.uuid,
      one.name,
      day,
      one.received[index],
      one.expected[index],
      one.percent[index],
      one.unreadable === true,
    ]),
  );
  const head = ["uuid", "name", "date", "received", "expected", "percent", "unreadable"];
  download(`compliance-${code}.csv`, csvText(head, rows));
}
