// The records of atrial fibrillation of a patient as CSV. They are few, so they come at once.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Patient } from "../../api/types";
import { useAction } from "../../api/use_action";
import { type Cell, csvText, download, isoTime } from "../../csv";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { SelectField, TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { toast } from "../../design/toast";
import { count, isoDay, patientName, shiftDay } from "../../format";

/** The longest range that the server takes. */
const MOST_DAYS = 31;

export function AfPanel({ patients }: { patients: Patient[] }) {
  const today = isoDay(new Date());
  const [uuid, setUuid] = useState(patients[0].uuid);
  const [from, setFrom] = useState(shiftDay(today, -6));
  const [to, setTo] = useState(today);
  const range = { timestamp_from: Date.parse(`${from}T00:00`), timestamp_to: Date.parse(`${to}T23:59:59.999`) };
  const tooLong = shiftDay(from, MOST_DAYS - 1) < to;
  const fetchRecords = useAction(async () => {
    const records = await call<Record<string, Cell>[]>("POST", paths.afRecords(uuid), range);
    if (records.length === 0) return toast("There is no record in this range");
    const names = Object.keys(records[0]);
    download(
      `af-records-${uuid}-${from}-${to}.csv`,
      csvText(
        names,
        records.map((record) => names.map((name) => cellOf(name, record[name]))),
      ),
    );
    toast(count(records.length, "record"));
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void fetchRecords.run();
  };
  return (
    <Panel
      title="Records of atrial fibrillation"
      note="One for each window of 64 intervals: classification, probabilities, heart rate variability. Not a diagnosis."
      tools={<CurlButton path={paths.afRecords(uuid)} method="POST" body={range} />}
    >
      <form class="stack" onSubmit={submit}>
        <div class="fields">
          <SelectField
            label="Patient"
            value={uuid}
            onValue={setUuid}
            choices={patients.map((patient) => ({ value: patient.uuid, text: patientName(patient) }))}
          />
          <TextField label="From" type="date" required value={from} onValue={setFrom} />
          <TextField
            label="To"
            type="date"
            required
            value={to}
            onValue={setTo}
            error={to < from ? "This is before the beginning" : tooLong ? `At most ${MOST_DAYS} days` : undefined}
          />
        </div>
        {fetchRecords.failed && (
          <Notice tone="bad" alert>
            {fetchRecords.failed}
          </Notice>
        )}
        <div>
          <Button type="submit" icon="download" busy={fetchRecords.busy} disabled={to < from || tooLong}>
            Download CSV
          </Button>
        </div>
      </form>
    </Panel>
  );
}

function cellOf(name: string, value: Cell): Cell {
  return name === "timestamp" && typeof value === "number" ? isoTime(value) : value;
}
