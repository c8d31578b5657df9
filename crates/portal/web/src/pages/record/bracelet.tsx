// Which bracelet is on the patient's wrist. A new one is registered and put on in one step.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Bracelet } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { SelectField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { Ago, At } from "../../design/time";
import { toast } from "../../design/toast";
import { NewBracelet } from "../bracelets/new_bracelet";
import type { PartProps } from "./part_props";

export function BraceletPart({ patient, may, onChanged }: PartProps) {
  const { data: bracelets, error, reload } = useResource<Bracelet[]>(paths.bracelets());
  const worn = bracelets?.filter((bracelet) => bracelet.patient_uuid === patient.uuid) ?? [];
  const free = bracelets?.filter((bracelet) => bracelet.id && !bracelet.patient_uuid) ?? [];
  const changed = () => {
    reload();
    onChanged();
  };
  return (
    <div class="columns">
      <Panel title="On the wrist">
        {error && <Problem error={error} onRetry={reload} />}
        {!bracelets && !error && <Skeleton />}
        {bracelets && worn.length === 0 && !patient.device && (
          <p class="soft">No bracelet is assigned. What a sync names is shown here, and assigned to nobody.</p>
        )}
        {patient.device && <Heard device={patient.device} />}
        {worn.map((bracelet) => (
          <Worn key={bracelet.serial_number} bracelet={bracelet} uuid={patient.uuid} may={may} onChanged={changed} />
        ))}
      </Panel>
      {may && bracelets && <PutOn uuid={patient.uuid} free={free} onChanged={changed} />}
    </div>
  );
}

function Heard({ device }: { device: NonNullable<PartProps["patient"]["device"]> }) {
  return (
    <dl class="facts">
      <dt>Last report</dt>
      <dd>
        <code>{device.serial_number}</code>, <Ago time={device.updated_at} />
      </dd>
      <dt>Battery</dt>
      <dd>{device.battery_level == null ? "not known" : `${device.battery_level} %`}</dd>
      <dt>Model</dt>
      <dd>
        {device.device_type ?? "not known"}{" "}
        {device.firmware_version && <span class="soft">firmware {device.firmware_version}</span>}
      </dd>
    </dl>
  );
}

function Worn({
  bracelet,
  uuid,
  may,
  onChanged,
}: {
  bracelet: Bracelet;
  uuid: string;
  may: boolean;
  onChanged: () => void;
}) {
  const takeOff = useAction(async () => {
    await call("DELETE", paths.braceletOfPatient(uuid, bracelet.serial_number));
    toast(`${bracelet.serial_number} taken off`);
    onChanged();
  });
  return (
    <div class="row apart assigned">
      <span>
        Assigned: <code class="strong">{bracelet.serial_number}</code>{" "}
        <span class="soft small">
          registered <At time={bracelet.created_at} dayOnly />
        </span>
      </span>
      {may && (
        <Button small busy={takeOff.busy} onClick={() => void takeOff.run()}>
          Take off
        </Button>
      )}
      {takeOff.failed && (
        <p class="bad-text" role="alert">
          {takeOff.failed}
        </p>
      )}
    </div>
  );
}

function PutOn({ uuid, free, onChanged }: { uuid: string; free: Bracelet[]; onChanged: () => void }) {
  const [serial, setSerial] = useState("");
  const [making, setMaking] = useState(false);
  // The one that was chosen may have been put on somebody meanwhile.
  const chosen = free.some((bracelet) => bracelet.serial_number === serial) ? serial : (free[0]?.serial_number ?? "");
  const putOn = useAction(async (which: string) => {
    await call("PUT", paths.braceletOfPatient(uuid, which));
    toast(`${which} put on`);
    onChanged();
  });
  return (
    <Panel title="Put on a bracelet" note={free.length === 0 ? "None of your bracelets is free." : null}>
      <div class="stack">
        {free.length > 0 && (
          <div class="row end">
            <SelectField
              label="Free bracelet"
              value={chosen}
              onValue={setSerial}
              choices={free.map((bracelet) => ({
                value: bracelet.serial_number,
                text: `${bracelet.serial_number} (${bracelet.device_type})`,
              }))}
            />
            <Button kind="primary" busy={putOn.busy} onClick={() => void putOn.run(chosen)}>
              Put on
            </Button>
          </div>
        )}
        {putOn.failed && (
          <Notice tone="bad" alert>
            {putOn.failed}
          </Notice>
        )}
        <div>
          <Button icon="plus" onClick={() => setMaking(true)}>
            Register a new one
          </Button>
        </div>
      </div>
      {making && (
        <NewBracelet
          onClose={() => setMaking(false)}
          onMade={(bracelet) => void putOn.run(bracelet.serial_number)}
          verb="Register and put on"
        />
      )}
    </Panel>
  );
}
