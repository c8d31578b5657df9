// One patient and day: every data type by hour, received against expected.

import { PORTAL, patient as patientPath } from "../../api/paths";
import { useResource } from "../../api/use_resource";
import { addDays, longDate } from "../../charts/zone";
import { csvText, download } from "../../csv";
import { Button, ButtonLink } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { stepQuery } from "../../router";
import * as pages from "../paths";
import { cellOf } from "./heat";
import { HeatMap } from "./heat_map";
import type { DayCompliance } from "./types";

interface Props {
  code: string;
  uuid: string;
  name: string;
  date: string;
  onClose(): void;
}

export function PatientDay({ code, uuid, name, date, onClose }: Props) {
  const path = `${PORTAL}/patients/${encodeURIComponent(uuid)}/compliance?date=${date}`;
  const { data, error, reload } = useResource<DayCompliance>(path);
  return (
    <section class="panel" aria-labelledby="patient-day-title">
      <header>
        <h2 id="patient-day-title">
          {name}, {longDate(date)}
        </h2>
        <span class="row">
          <Button small icon="left" label="Day before" onClick={() => stepQuery({ date: addDays(date, -1) })} />
          <Button small icon="right" label="Day after" onClick={() => stepQuery({ date: addDays(date, 1) })} />
          <ButtonLink small kind="quiet" icon="pulse" href={`${pages.patient(code, uuid)}?date=${date}`}>
            Charts
          </ButtonLink>
          <CurlButton path={`${patientPath(uuid)}/raw-data-compliance/${date}`} />
          {data && (
            <Button kind="quiet" small icon="download" onClick={() => saveCsv(uuid, date, data)}>
              CSV
            </Button>
          )}
          <Button small kind="quiet" icon="close" label="Close" onClick={onClose} />
        </span>
      </header>
      {error && <Problem error={error} onRetry={reload} />}
      {!data && !error && <Skeleton lines={6} />}
      {data && (
        <HeatMap
          label={`Data of ${name} by type and hour`}
          corner="Type"
          columns={Array.from({ length: data.hours }, (_, hour) => ({
            key: String(hour),
            label: String(hour),
            long: hourText(hour, data.hours),
          }))}
          rows={data.types.map(({ type, received, expected }) => ({
            key: type,
            label: type,
            cells: received.map((count, hour) => cellOf(count, expected[hour] ?? null)),
          }))}
        />
      )}
    </section>
  );
}

/** The hour of a local day. On a day of a clock change it is counted and not named: one is missing or comes twice. */
function hourText(hour: number, hours: number): string {
  return hours === 24
    ? `${String(hour).padStart(2, "0")}:00 to ${String(hour + 1).padStart(2, "0")}:00`
    : `hour ${hour + 1} of ${hours}`;
}

function saveCsv(uuid: string, date: string, { types }: DayCompliance): void {
  const rows = types.flatMap(({ type, received, expected }) =>
    received.map((count, hour) => [type, hour, count, expected[hour]]),
  );
  download(`compliance-${uuid}-${date}.csv`, csvText(["type", "hour", "received", "expected"], rows));
}
