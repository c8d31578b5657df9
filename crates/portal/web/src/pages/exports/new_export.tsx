// What is to be exported: whose data, which types, from when to when, in which format.

import { useState } from "preact/hooks";
import * as paths from "../../api/paths";
import type { Patient } from "../../api/types";
import { DATA_TYPES } from "../../data_types";
import { Button } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { CheckGroup, ClockField, SelectField, TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { toast } from "../../design/toast";
import { count, isoDay, patientName, shiftDay } from "../../format";
import { useAddress } from "../../router";
import { type ExportWish, rangeEnd, rangeStart } from "./jobs";

const FORMATS = [
  { value: "csv", text: "CSV (one file a type)" },
  { value: "parquet", text: "Parquet (exact, for notebooks)" },
];
const EVERYBODY = "*";

export function NewExport({
  patients,
  onWanted,
}: {
  patients: Patient[];
  onWanted: (uuids: string[], wish: ExportWish) => void;
}) {
  const { query } = useAddress();
  const today = isoDay(new Date());
  const [who, setWho] = useState(
    () => patients.find((patient) => patient.uuid === query.get("patient"))?.uuid ?? patients[0].uuid,
  );
  const [types, setTypes] = useState(["activity", "rr-interval"]);
  const [fromDay, setFromDay] = useState(shiftDay(today, -6));
  const [fromTime, setFromTime] = useState("00:00");
  const [toDay, setToDay] = useState(today);
  const [toTime, setToTime] = useState("23:59");
  const [format, setFormat] = useState("csv");

  const wish: ExportWish = {
    types,
    client_date_from: rangeStart(fromDay, fromTime),
    client_date_to: rangeEnd(toDay, toTime),
    format: format as ExportWish["format"],
  };
  const backwards = wish.client_date_from > wish.client_date_to;
  const submit = (event: Event) => {
    event.preventDefault();
    const uuids = who === EVERYBODY ? patients.map((patient) => patient.uuid) : [who];
    onWanted(uuids, wish);
    toast(`${count(uuids.length, "export")} begun`);
  };
  // A command is about one patient: of all, the reader puts each in its place.
  const one = who === EVERYBODY ? "UUID" : who;

  return (
    <Panel
      title="New export"
      note="Times are the patient’s own clock. One export of a patient every five minutes; more wait for their turn."
      tools={<CurlButton path={paths.createExport(one)} method="POST" body={wish} />}
    >
      <form class="stack" onSubmit={submit}>
        <div class="fields roomy">
          <SelectField
            label="Patient"
            value={who}
            onValue={setWho}
            choices={[
              { value: EVERYBODY, text: `All ${count(patients.length, "patient")} of the study` },
              ...patients.map((patient) => ({ value: patient.uuid, text: patientName(patient) })),
            ]}
          />
          <div class="row end">
            <TextField label="From" type="date" required value={fromDay} onValue={setFromDay} />
            <ClockField label="At (from)" value={fromTime} onValue={setFromTime} />
          </div>
          <div class="row end">
            <TextField
              label="To"
              type="date"
              required
              value={toDay}
              onValue={setToDay}
              error={backwards ? "Before the beginning" : undefined}
            />
            <ClockField label="At (to)" value={toTime} onValue={setToTime} />
          </div>
          <SelectField label="Format" choices={FORMATS} value={format} onValue={setFormat} />
        </div>
        <CheckGroup
          label="Types"
          choices={DATA_TYPES}
          chosen={types}
          onChosen={setTypes}
          hint={types.length === 0 ? "Choose at least one." : "Waveforms are large: days of them can be gigabytes."}
        />
        <div>
          <Button kind="primary" type="submit" icon="download" disabled={types.length === 0 || backwards}>
            {who === EVERYBODY ? `Export ${count(patients.length, "patient")}` : "Export"}
          </Button>
        </div>
      </form>
    </Panel>
  );
}
