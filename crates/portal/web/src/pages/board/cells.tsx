// The cells of a patient's row. A value is never shown without its age; what is missing is said to be missing. Ages are
// written by the board's clock (`age.ts`), which is why they carry their time in `data-at`.

import { Icon } from "../../design/icon";
import { OUTDATED_MS, spokenAge } from "./age";
import { responseText, STALE_AFTER_MS, shownNews, UNREADABLE_TEXT } from "./news";
import { sparkPath, sparkText } from "./sparkline";
import type { Row } from "./types";

/** The age of something, kept up by the board's clock. */
export function Age({ at, limitMs, nowMs }: { at: number; limitMs?: number; nowMs: number }) {
  return (
    <time class="age" data-at={at} data-limit={limitMs} dateTime={new Date(at).toISOString()}>
      {spokenAge(nowMs - at)
        .replace(" ago", "")
        .replace("just now", "now")}
    </time>
  );
}

/** Why there is no value: never measured, or stored and damaged, which must not look alike. */
function Missing({ row, none }: { row: Row; none: string }) {
  return row.unreadable ? <Unreadable /> : <span class="missing">{none}</span>;
}

function Unreadable({ what }: { what?: string }) {
  return <span class="missing unreadable">{what && <span class="unseen">{what}: </span>}cannot be read</span>;
}

interface VitalProps {
  row: Row;
  label: string;
  kind: string;
  text: string | null;
  at: number | null;
  limitMs?: number;
  nowMs: number;
  /** What the label is followed by where there is room. */
  unit?: string;
  /** Points in the score; what does not count has none. */
  points?: number | null | undefined;
}

/** A value and its age. */
export function Vital(props: VitalProps) {
  const { row, label, kind, text, at, limitMs = OUTDATED_MS.vital, nowMs, unit, points } = props;
  const classes = ["cell vital", kind, points && `points-${points}`, at !== null && nowMs - at > limitMs && "outdated"];
  return (
    <div role="cell" class={classes.filter(Boolean).join(" ")} data-cell data-label={label} data-unit={unit}>
      {text === null || at === null ? (
        <Missing row={row} none="none" />
      ) : (
        <>
          <span class="value">{text}</span>
          {/* The number carries what the colour repeats. */}
          {!!points && (
            <span class="points" title={`scores ${points} in NEWS2`}>
              +{points}
            </span>
          )}
          <Age at={at} limitMs={limitMs} nowMs={nowMs} />
        </>
      )}
    </div>
  );
}

/** `124/78`; a half that is missing is a dash. */
export function PressureCell({ row, nowMs, ...more }: Pick<VitalProps, "row" | "nowMs" | "unit" | "points">) {
  const pressure = row.blood_pressure;
  const half = (value: number | null) => (value === null ? "–" : Math.round(value));
  return (
    <Vital
      row={row}
      label="BP"
      kind="pressure"
      nowMs={nowMs}
      text={pressure && `${half(pressure.systolic)}/${half(pressure.diastolic)}`}
      at={pressure?.timestamp ?? null}
      limitMs={OUTDATED_MS.blood_pressure}
      {...more}
    />
  );
}

/** The score with its colour, its word and what it lacks. */
export function News({ row, nowMs }: { row: Row; nowMs: number }) {
  if (row.unreadable) return <UnreadableNews />;
  const { risk, score, word, note, stale } = shownNews(row.news, nowMs);
  return (
    <div role="cell" class={`cell news-cell${stale ? " outdated" : ""}`} data-cell data-label="NEWS">
      <span class={`news ${risk}`} title={`NEWS2 ${score}: ${word}, ${responseText(risk)}`}>
        <b>{score}</b>
        <span>{word}</span>
      </span>
      <span class="under">
        {row.news && <Age at={row.news.timestamp} limitMs={STALE_AFTER_MS} nowMs={nowMs} />}
        {note && (
          <span class="note" title={note}>
            {note}
          </span>
        )}
      </span>
    </div>
  );
}

function UnreadableNews() {
  return (
    <div role="cell" class="cell news-cell" data-cell data-label="NEWS">
      <span class="news unreadable">
        <Icon name="alert" size={14} />
        <span>{UNREADABLE_TEXT}</span>
      </span>
      <span class="under">
        <span class="note" title="stored data are damaged">
          stored data are damaged
        </span>
      </span>
    </div>
  );
}

const SPARK = { width: 132, height: 26 };

/** The heart rate and the saturation of the last hours. */
export function Trend({ row }: { row: Row }) {
  if (row.unreadable) {
    return (
      <div role="cell" class="cell trend" data-label="Last hours">
        <Unreadable />
      </div>
    );
  }
  const heart = row.spark?.heart_rate ?? [];
  const saturation = row.spark?.spo2 ?? [];
  return (
    <div role="cell" class="cell trend" data-label="Last hours">
      <svg
        viewBox={`-2 -2 ${SPARK.width + 4} ${SPARK.height + 4}`}
        role="img"
        aria-label={sparkText(heart, "Heart rate")}
        preserveAspectRatio="none"
      >
        <path class="spo2" d={sparkPath(saturation, SPARK.width, SPARK.height, 12)} />
        <path class="heart" d={sparkPath(heart, SPARK.width, SPARK.height, 20)} />
      </svg>
    </div>
  );
}

/** Battery, worn or not, charging. */
export function Bracelet({ row }: { row: Row }) {
  if (row.unreadable) {
    return (
      <div role="cell" class="cell bracelet" data-label="Bracelet">
        <Unreadable what="battery, worn" />
      </div>
    );
  }
  const percent = row.battery?.percent ?? null;
  const state = row.charging ? "charging" : row.worn === false ? "not worn" : row.worn ? "worn" : "unknown";
  const low = percent !== null && percent <= 15;
  return (
    <div role="cell" class="cell bracelet" data-label="Bracelet">
      <span class={low ? "value battery low" : "value battery"}>
        <Icon name="battery" />
        {percent === null ? "–" : `${percent} %`}
        {low && <span class="unseen"> low</span>}
      </span>
      <span class={`under worn-state ${state.replace(" ", "-")}`}>{low ? `low, ${state}` : state}</span>
    </div>
  );
}

/** When the patient was last heard of. The dot shows a sync as it comes. */
export function Sync({ row, nowMs }: { row: Row; nowMs: number }) {
  const at = row.last_sync;
  const outdated = at !== null && nowMs - at > OUTDATED_MS.sync;
  return (
    <div role="cell" class={`cell sync${outdated ? " outdated" : ""}`} data-cell data-label="Last sync">
      {at === null ? (
        <Missing row={row} none="never" />
      ) : (
        <>
          <i class="beat" key={at} aria-hidden="true" />
          <Age at={at} limitMs={OUTDATED_MS.sync} nowMs={nowMs} />
        </>
      )}
    </div>
  );
}
