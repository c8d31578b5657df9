// A patient on the wall: name, score and what scores in it, with more or fewer vital signs.

import type { ComponentChildren } from "preact";
import { OUTDATED_MS } from "./age";
import { Age, News, Sync } from "./cells";
import { silence } from "./rows";
import type { NewsPart, Row } from "./types";
import type { Detail } from "./wall_layout";

interface Sign {
  label: string;
  unit: string;
  part: NewsPart;
  text: string | null;
  at: number | null;
  limitMs: number;
}

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
          {signsOf(row, detail).map((sign) => (
            <Vital key={sign.label} row={row} sign={sign} nowMs={now} />
          ))}
        </div>
      </div>
      {reason && <p class="wall-reason">{reason}</p>}
    </div>
  );
}

/** The vital signs of a tile; of a tile of the score alone those that score. */
function signsOf(row: Row, detail: Detail): Sign[] {
  const { heart_rate, respiration_rate, spo2, temperature, blood_pressure } = row;
  const sign = (label: string, unit: string, part: NewsPart, text: string | null, at: number | null): Sign => ({
    ...{ label, unit, part, text, at },
    limitMs: part === "blood_pressure" ? OUTDATED_MS.blood_pressure : OUTDATED_MS.vital,
  });
  const of = (label: string, unit: string, part: NewsPart, reading: Row["spo2"], digits = 0) =>
    sign(label, unit, part, reading ? reading.value.toFixed(digits) : null, reading?.timestamp ?? null);
  const half = (value: number | null) => (value === null ? "–" : Math.round(value));
  const pressure = blood_pressure && `${half(blood_pressure.systolic)}/${half(blood_pressure.diastolic)}`;
  const some = [
    of("HR", "/min", "heart_rate", heart_rate),
    of("Resp", "/min", "respiration_rate", respiration_rate),
    of("SpO₂", "%", "spo2", spo2),
  ];
  const all = [
    ...some,
    of("Temp", "°C", "temperature", temperature, 1),
    sign("BP", "mmHg", "blood_pressure", pressure, blood_pressure?.timestamp ?? null),
  ];
  if (detail === "all") return all;
  if (detail === "some") return some;
  return [];
}

function Vital({ row, sign, nowMs }: { row: Row; sign: Sign; nowMs: number }) {
  const points = row.news?.parts?.[sign.part] ?? 0;
  const outdated = sign.at !== null && nowMs - sign.at > sign.limitMs;
  return (
    <div
      role="cell"
      class={`cell vital points-${points}${outdated ? " outdated" : ""}`}
      data-cell
      data-label={sign.label}
      data-unit={sign.unit}
    >
      <Value row={row} sign={sign} nowMs={nowMs}>
        {/* The number carries what the colour repeats. */}
        {points > 0 && (
          <span class="points" title={`scores ${points} in NEWS2`}>
            +{points}
          </span>
        )}
      </Value>
    </div>
  );
}

function Value({ row, sign, nowMs, children }: { row: Row; sign: Sign; nowMs: number; children: ComponentChildren }) {
  if (row.unreadable) return <span class="missing unreadable">cannot be read</span>;
  if (sign.text === null || sign.at === null) return <span class="missing">none</span>;
  return (
    <>
      <span class="value">{sign.text}</span>
      {children}
      <Age at={sign.at} limitMs={sign.limitMs} nowMs={nowMs} />
    </>
  );
}
