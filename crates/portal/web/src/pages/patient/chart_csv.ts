// What the charts show as CSV: one line for each drawn point, times in UTC and on the patient's clock.

import type { Range } from "../../charts/range";
import { type SeriesAnswer, seriesName } from "../../charts/series";
import { clock, dateOf } from "../../charts/zone";
import type { Cell } from "../../csv";

export const CHART_CSV_HEADER = ["signal", "unit", "time_utc", "local_time", "min", "max", "raw"];

export function chartCsvRows(answer: SeriesAnswer, range: Range, zone: string): Cell[][] {
  return answer.series.flatMap((series) =>
    series.t.flatMap((at, index) =>
      at < range.from || at > range.to || series.max[index] == null
        ? []
        : [
            [
              seriesName(series),
              series.unit,
              new Date(at).toISOString(),
              `${dateOf(at, zone)}T${clock(at, zone, "millisecond")}`,
              series.min[index],
              series.max[index],
              series.raw,
            ],
          ],
    ),
  );
}
