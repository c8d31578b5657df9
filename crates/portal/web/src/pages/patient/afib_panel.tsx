// Records of atrial fibrillation over the days on the screen, with the strip of intervals behind each. Reading them is an
// export and is in the audit log, so it is done when the reader asks for it and not before.

import { useEffect, useState } from "preact/hooks";
import { call, getText } from "../../api/client";
import * as paths from "../../api/paths";
import type { Range } from "../../charts/range";
import { clock, shortDate } from "../../charts/zone";
import { isoTime } from "../../csv";
import { Badge } from "../../design/badge";
import { Button } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { Problem } from "../../design/problem";
import { Table } from "../../design/table";
import { type AfRecord, afText, afTone, stripPath } from "./afib";

interface Props {
  uuid: string;
  range: Range;
  zone: string;
}

export function AfibPanel({ uuid, range, zone }: Props) {
  const [read, setRead] = useState<{ records: AfRecord[]; range: Range } | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const [chosen, setChosen] = useState<AfRecord | null>(null);
  const body = { timestamp_from: range.from, timestamp_to: Math.min(range.to, Date.now()) };

  const show = async () => {
    setBusy(true);
    setError(null);
    try {
      const records = await call<AfRecord[]>("POST", paths.afRecords(uuid), body);
      setRead({ records, range });
      // What has to be looked at comes first.
      setChosen(records.find((record) => record.classification === "AF") ?? records[0] ?? null);
    } catch (failure) {
      setError(failure as Error);
    }
    setBusy(false);
  };

  const when = (record: AfRecord) => `${shortDate(record.timestamp, zone)} ${clock(record.timestamp, zone, "second")}`;
  return (
    <section class="panel afib" aria-labelledby="afib-title">
      <header>
        <h2 id="afib-title">Atrial fibrillation</h2>
        <span class="row">
          <CurlButton path={paths.afRecords(uuid)} method="POST" body={body} />
          <Button small busy={busy} onClick={show}>
            {read ? "Read again" : "Show the records of this range"}
          </Button>
        </span>
      </header>
      <p class="small soft">
        Windows of 64 intervals between beats. An aid for looking, not a diagnosis. Reading the records is written to
        the audit log.
      </p>
      {error && <Problem error={error} onRetry={show} />}
      {read && read.records.length === 0 && <p class="soft">No window in this range: there are no beat intervals.</p>}
      {chosen && <Strip key={chosen._id} uuid={uuid} record={chosen} when={when(chosen)} />}
      {read && read.records.length > 0 && (
        <Table
          noun="record"
          rows={read.records}
          rowKey={(record) => record._id}
          file={`afib-${uuid}`}
          order={{ key: "timestamp", direction: "down" }}
          columns={[
            { key: "timestamp", title: "Time", value: (record) => isoTime(record.timestamp), cell: when },
            {
              key: "classification",
              title: "Class",
              value: (record) => record.classification,
              cell: (record) => <Badge tone={afTone(record)}>{afText(record.classification)}</Badge>,
            },
            { key: "final_probability", title: "Probability", value: (record) => record.final_probability, end: true },
            { key: "heart_rate", title: "Heart rate", value: (record) => record.heart_rate, end: true },
            { key: "rmssd", title: "RMSSD ms", value: (record) => record.rmssd, end: true },
            { key: "pnn50", title: "pNN50 %", value: (record) => record.pnn50, end: true },
            { key: "good_ibi_number", title: "Good intervals", value: (record) => record.good_ibi_number, end: true },
            {
              key: "strip",
              title: "Strip",
              value: () => "",
              controls: true,
              cell: (record) =>
                record.has_image_file && (
                  <Button small kind="quiet" aria-pressed={record === chosen} onClick={() => setChosen(record)}>
                    Show strip
                  </Button>
                ),
            },
          ]}
        />
      )}
    </section>
  );
}

/** The strip as an image of its own: what is inside cannot reach the page. */
function Strip({ uuid, record, when }: { uuid: string; record: AfRecord; when: string }) {
  const [image, setImage] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    getText(stripPath(uuid, record), stop.signal).then(
      (svg) => setImage(`data:image/svg+xml,${encodeURIComponent(svg)}`),
      (failure: Error) => !stop.signal.aborted && setError(failure),
    );
    return () => stop.abort();
  }, [record._id]);
  return (
    <figure class="strip">
      {error && <Problem error={error} />}
      {image && (
        <img src={image} alt={`Intervals between beats of the window at ${when}, ${afText(record.classification)}`} />
      )}
      <figcaption class="small soft">
        {when} · {afText(record.classification)}
      </figcaption>
    </figure>
  );
}
