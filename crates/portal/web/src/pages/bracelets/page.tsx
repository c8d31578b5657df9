// All bracelets: those that one's patients wear, those that are free, and those that only syncs have named.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Bracelet } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { Badge } from "../../design/badge";
import { Button } from "../../design/button";
import { Confirm, Dialog } from "../../design/dialog";
import { EmptyState } from "../../design/empty_state";
import { TextField } from "../../design/field";
import { PageHead } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Column, Table } from "../../design/table";
import { Ago, At } from "../../design/time";
import { toast } from "../../design/toast";
import { useNames } from "../../names";
import * as pages from "../paths";
import { NewBracelet } from "./new_bracelet";

export default function BraceletsPage() {
  const { data: bracelets, error, reload } = useResource<Bracelet[]>(paths.bracelets());
  const names = useNames();
  /** The serial number to begin with; nothing while no bracelet is being registered. */
  const [making, setMaking] = useState<string | null>(null);
  const [editing, setEditing] = useState<Bracelet | null>(null);
  const [removing, setRemoving] = useState<Bracelet | null>(null);
  const newButton = (
    <Button kind="primary" icon="plus" onClick={() => setMaking("")}>
      New bracelet
    </Button>
  );
  const wearer = (bracelet: Bracelet) => (bracelet.patient_uuid ? names.of(bracelet.patient_uuid) : "");
  const patientLink = (uuid: string) => {
    const code = names.studyOf(uuid);
    return code ? <a href={pages.record(code, uuid)}>{names.of(uuid)}</a> : names.of(uuid);
  };
  const columns: Column<Bracelet>[] = [
    {
      key: "serial_number",
      title: "Serial number",
      value: (bracelet) => bracelet.serial_number,
      cell: (bracelet) => <code class="strong">{bracelet.serial_number}</code>,
    },
    {
      key: "wearer",
      title: "Worn by",
      value: wearer,
      cell: (bracelet) => {
        if (bracelet.patient_uuid) return patientLink(bracelet.patient_uuid);
        if (bracelet.id) return <Badge tone="good">Free</Badge>;
        return <Badge tone="note">{bracelet.registered ? "Registered elsewhere" : "Not registered"}</Badge>;
      },
    },
    {
      key: "seen_on",
      title: "Last seen on",
      value: (bracelet) => (bracelet.seen_on ? names.of(bracelet.seen_on) : ""),
      cell: (bracelet) =>
        bracelet.seen_on && (
          <>
            {patientLink(bracelet.seen_on)}, <Ago time={bracelet.updated_at} />
          </>
        ),
    },
    {
      key: "battery_level",
      title: "Battery",
      value: (bracelet) => bracelet.battery_level,
      cell: (bracelet) => bracelet.battery_level !== undefined && `${bracelet.battery_level} %`,
    },
    { key: "device_type", title: "Model", value: (bracelet) => bracelet.device_type },
    { key: "firmware_version", title: "Firmware", value: (bracelet) => bracelet.firmware_version },
    {
      key: "created_at",
      title: "Registered",
      value: (bracelet) => bracelet.created_at,
      cell: (bracelet) => bracelet.created_at && <At time={bracelet.created_at} dayOnly />,
    },
    {
      key: "change",
      title: "Change",
      controls: true,
      value: () => null,
      cell: (bracelet) => (
        <>
          {!bracelet.registered && (
            <Button
              small
              kind="quiet"
              onClick={() => setMaking(bracelet.serial_number)}
              label={`Register ${bracelet.serial_number}`}
            >
              Register
            </Button>
          )}
          {bracelet.id && (
            <Button small kind="quiet" onClick={() => setEditing(bracelet)} label={`Edit ${bracelet.serial_number}`}>
              Edit
            </Button>
          )}
          {/* One that is worn would be refused: it is taken off in the patient's record first. */}
          {bracelet.id && !bracelet.patient_uuid && (
            <Button small kind="quiet" onClick={() => setRemoving(bracelet)} label={`Remove ${bracelet.serial_number}`}>
              Remove
            </Button>
          )}
        </>
      ),
    },
  ];
  return (
    <>
      <PageHead
        title="Bracelets"
        note="Those that your patients wear, those that are free, and those that your patients’ syncs have named."
        tools={bracelets?.length ? newButton : null}
      />
      {error && <Problem error={error} onRetry={reload} />}
      {!bracelets && !error && <Skeleton lines={5} />}
      {bracelets?.length === 0 && (
        <section class="panel">
          <EmptyState icon="battery" title="There is no bracelet yet" action={newButton}>
            Register the ones you have, then put them on in the patients’ records. A bracelet that syncs is shown, too.
          </EmptyState>
        </section>
      )}
      {bracelets && bracelets.length > 0 && (
        <section class="panel">
          <Table
            noun="bracelet"
            rows={bracelets}
            columns={columns}
            rowKey={(bracelet) => bracelet.serial_number}
            file="bracelets"
            curl={paths.bracelets()}
            order={{ key: "serial_number", direction: "up" }}
          />
        </section>
      )}
      {making !== null && (
        <NewBracelet
          serialNumber={making}
          onClose={() => setMaking(null)}
          onMade={(bracelet) => {
            toast(`${bracelet.serial_number} registered`);
            reload();
          }}
        />
      )}
      {editing && <EditBracelet bracelet={editing} onClose={() => setEditing(null)} onDone={reload} />}
      {removing && <RemoveBracelet bracelet={removing} onClose={() => setRemoving(null)} onDone={reload} />}
    </>
  );
}

interface ChangeProps {
  bracelet: Bracelet;
  onClose: () => void;
  onDone: () => void;
}

function EditBracelet({ bracelet, onClose, onDone }: ChangeProps) {
  const [type, setType] = useState(bracelet.device_type ?? "");
  const [firmware, setFirmware] = useState(bracelet.firmware_version ?? "");
  const save = useAction(async () => {
    await call("PATCH", paths.bracelet(bracelet.serial_number), {
      device_type: type.trim(),
      ...(firmware.trim() ? { firmware_version: firmware.trim() } : {}),
    });
    toast(`${bracelet.serial_number} saved`);
    onDone();
    onClose();
  });
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" type="submit" busy={save.busy}>
        Save
      </Button>
    </>
  );
  return (
    <Dialog title={`Bracelet ${bracelet.serial_number}`} onClose={onClose} onSubmit={() => void save.run()} foot={foot}>
      <TextField label="Model" required autofocus value={type} onValue={setType} error={save.fields.device_type} />
      <TextField label="Firmware" value={firmware} onValue={setFirmware} error={save.fields.firmware_version} />
      {save.failed && (
        <p class="bad-text" role="alert">
          {save.failed}
        </p>
      )}
    </Dialog>
  );
}

function RemoveBracelet({ bracelet, onClose, onDone }: ChangeProps) {
  const remove = useAction(async () => {
    await call("DELETE", paths.bracelet(bracelet.serial_number));
    toast(`${bracelet.serial_number} removed`);
    onDone();
    onClose();
  });
  return (
    <Confirm
      title="Remove this bracelet?"
      yes="Remove"
      danger
      busy={remove.busy}
      failed={remove.failed}
      onYes={() => void remove.run()}
      onClose={onClose}
    >
      <p>
        <code>{bracelet.serial_number}</code> leaves the inventory. What was measured with it stays.
      </p>
    </Confirm>
  );
}
