// A patient's row. Drawn again only when the service sends something new; ages move by themselves.

import { Component } from "preact";
import * as pages from "../paths";
import { Bracelet, News, PressureCell, Sync, Trend, Vital } from "./cells";
import type { Row } from "./types";

interface Props {
  row: Row;
  code: string;
  /** Place in the whole list, from 1: those before it may not be in the page. */
  index: number;
  topPx: number;
}

export class PatientRow extends Component<Props> {
  shouldComponentUpdate(next: Props): boolean {
    return (Object.keys(next) as (keyof Props)[]).some((key) => next[key] !== this.props[key]);
  }

  render({ row, code, index, topPx }: Props) {
    const now = Date.now();
    const { heart_rate, respiration_rate, spo2, temperature } = row;
    return (
      <div
        role="row"
        class="board-row"
        aria-rowindex={index + 1}
        data-uuid={row.uuid}
        style={{ transform: `translateY(${topPx}px)` }}
      >
        <div role="rowheader" class="cell who">
          <a href={pages.patient(code, row.uuid)}>{row.name}</a>
          {row.external_id && <span class="under">{row.external_id}</span>}
        </div>
        <News row={row} nowMs={now} />
        <Vital row={row} label="HR" kind="heart" nowMs={now} text={whole(heart_rate?.value)} at={at(heart_rate)} />
        <Vital
          row={row}
          label="Resp."
          kind="resp"
          nowMs={now}
          text={whole(respiration_rate?.value)}
          at={at(respiration_rate)}
        />
        <Vital row={row} label="SpO₂" kind="spo2" nowMs={now} text={whole(spo2?.value)} at={at(spo2)} />
        <Vital
          row={row}
          label="Temp."
          kind="temp"
          nowMs={now}
          text={temperature?.value.toFixed(1) ?? null}
          at={at(temperature)}
        />
        <PressureCell row={row} nowMs={now} />
        <Trend row={row} />
        <Bracelet row={row} />
        <Sync row={row} nowMs={now} />
      </div>
    );
  }
}

function whole(value: number | undefined): string | null {
  return value === undefined ? null : String(Math.round(value));
}

function at(reading: { timestamp: number } | null): number | null {
  return reading?.timestamp ?? null;
}
