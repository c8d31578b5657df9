// What raises an alarm for a patient: a vital below or above a limit for so long.

import { useState } from "preact/hooks";
import { VITALS } from "../../alarm_vitals";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Alarm } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { SelectField, TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { toast } from "../../design/toast";
import { type AlarmRow, alarmsOf, rowsOf } from "./alarm_rows";
import type { PartProps } from "./part_props";

export function AlarmsPart({ patient, may }: PartProps) {
  const { data, error, reload, set } = useResource<{ alarms: Alarm[] }>(paths.alarms(patient.uuid));
  return (
    <Panel
      title="Alarms"
      note="When a vital stays beyond a limit."
      tools={<CurlButton path={paths.alarms(patient.uuid)} />}
    >
      {error && <Problem error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data && (
        <AlarmsForm key={JSON.stringify(data)} uuid={patient.uuid} alarms={data.alarms} may={may} onSaved={set} />
      )}
    </Panel>
  );
}

interface FormProps {
  uuid: string;
  alarms: Alarm[];
  may: boolean;
  onSaved: (data: { alarms: Alarm[] }) => void;
}

function AlarmsForm({ uuid, alarms, may, onSaved }: FormProps) {
  const [rows, setRows] = useState(() => rowsOf(alarms));
  const save = useAction(async () => {
    onSaved(await call<{ alarms: Alarm[] }>("PUT", paths.alarms(uuid), { alarms: alarmsOf(rows) }));
    toast("Alarms saved");
  });
  const change = (at: number, part: Partial<AlarmRow>) =>
    setRows(rows.map((row, i) => (i === at ? { ...row, ...part } : row)));
  const changed = JSON.stringify(alarmsOf(rows)) !== JSON.stringify(alarmsOf(rowsOf(alarms)));
  const submit = (event: Event) => {
    event.preventDefault();
    void save.run();
  };
  return (
    <form class="stack alarms" onSubmit={submit}>
      {rows.length === 0 && (
        <p class="soft">No alarm is set. {may && "Add one for each vital that must not leave its range."}</p>
      )}
      {rows.map((row, at) => (
        <fieldset class="alarm-row" key={at} disabled={!may}>
          <legend class="unseen">Alarm {at + 1}</legend>
          <SelectField label="Vital" choices={VITALS} value={row.vital} onValue={(vital) => change(at, { vital })} />
          <TextField
            label="Below"
            inputMode="decimal"
            unit={unitOf(row.vital)}
            value={row.below}
            error={save.fields[`alarms.${at}.below`]}
            onValue={(below) => change(at, { below })}
          />
          <TextField
            label="Above"
            inputMode="decimal"
            unit={unitOf(row.vital)}
            value={row.above}
            error={save.fields[`alarms.${at}.above`]}
            onValue={(above) => change(at, { above })}
          />
          <TextField
            label="For"
            type="number"
            min={0}
            unit="s"
            value={row.for_s}
            error={save.fields[`alarms.${at}.for_s`]}
            onValue={(for_s) => change(at, { for_s })}
          />
          {may && (
            <Button
              kind="quiet"
              icon="trash"
              label={`Remove alarm ${at + 1}`}
              onClick={() => {
                setRows(rows.filter((_, i) => i !== at));
                // What was refused is named by its place, which another row takes now.
                save.clear();
              }}
            />
          )}
        </fieldset>
      ))}
      {save.failed && (
        <Notice tone="bad" alert>
          {save.failed}
        </Notice>
      )}
      {may && (
        <div class="row">
          <Button
            icon="plus"
            // Five minutes to begin with: alarms that any slip of the bracelet raises are soon no longer looked at.
            onClick={() => setRows([...rows, { vital: "heart_rate", below: "", above: "", for_s: "300" }])}
          >
            Add alarm
          </Button>
          <Button kind="primary" type="submit" busy={save.busy} disabled={!changed}>
            Save alarms
          </Button>
        </div>
      )}
    </form>
  );
}

function unitOf(vital: string): string {
  return VITALS.find(({ value }) => value === vital)?.unit ?? "";
}
