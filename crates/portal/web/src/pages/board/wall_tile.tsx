// A patient on the wall: name and score, with more or fewer vital signs and the points of each.

import { News, PressureCell, Sync, Vital } from "./cells";
import { silence } from "./rows";
import type { Row } from "./types";
import type { Detail } from "./wall_layout";

export function WallTile({ row, detail }: { row: Row; detail: Detail }) {
  const now = Date.now();
  const reason = silence(row, now);
  return (
    <div class={`wall-tile ${detail}${reason ? " silent" : ""}`} role="listitem" data-patient={row.uuid}>
      <h2>{row.name}</h2>
      <div role="table" aria-label={row.name}>
        <div role="row">
          <News row={row} nowMs={now} />
          <Sync row={row} nowMs={now} />
          {detail !== "score" && <Vitals row={row} isWhole={detail === "all"} nowMs={now} />}
        </div>
      </div>
      {reason && <p class="wall-reason">{reason}</p>}
    </div>
  );
}

/** The vital signs that come all the time, and of a whole tile those that come rarely. */
function Vitals({ row, isWhole, nowMs }: { row: Row; isWhole: boolean; nowMs: number }) {
  const parts = row.news?.parts;
  const of = (reading: Row["spo2"], digits = 0) => ({
    row,
    nowMs,
    text: reading ? reading.value.toFixed(digits) : null,
    at: reading?.timestamp ?? null,
  });
  return (
    <>
      <Vital label="HR" kind="heart" unit="/min" points={parts?.heart_rate} {...of(row.heart_rate)} />
      <Vital label="Resp" kind="resp" unit="/min" points={parts?.respiration_rate} {...of(row.respiration_rate)} />
      <Vital label="SpO₂" kind="spo2" unit="%" points={parts?.spo2} {...of(row.spo2)} />
      {isWhole && <Vital label="Temp" kind="temp" unit="°C" points={parts?.temperature} {...of(row.temperature, 1)} />}
      {isWhole && <PressureCell row={row} nowMs={nowMs} unit="mmHg" points={parts?.blood_pressure} />}
    </>
  );
}
