// Registers a bracelet.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Bracelet } from "../../api/types";
import { useAction } from "../../api/use_action";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { Dialog } from "../../design/dialog";
import { TextField } from "../../design/field";

export function NewBracelet({
  onClose,
  onMade,
  verb = "Register",
  serialNumber = "",
}: {
  onClose: () => void;
  onMade: (bracelet: Bracelet) => void;
  verb?: string;
  /** One that is known already. */
  serialNumber?: string;
}) {
  const [serial, setSerial] = useState(serialNumber);
  const [type, setType] = useState("bracelet");
  const [firmware, setFirmware] = useState("");
  const make = useAction(async () => {
    const body = {
      serial_number: serial.trim(),
      device_type: type.trim(),
      ...(firmware.trim() ? { firmware_version: firmware.trim() } : {}),
    };
    const bracelet = await call<Bracelet>("POST", paths.bracelets(), body);
    onClose();
    onMade(bracelet);
  });
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" type="submit" busy={make.busy}>
        {verb}
      </Button>
    </>
  );
  return (
    <Dialog title="New bracelet" onClose={onClose} onSubmit={() => void make.run()} foot={foot}>
      <TextField
        label="Serial number"
        required
        autofocus
        autocomplete="off"
        spellcheck={false}
        hint="On the back of the bracelet."
        value={serial}
        onValue={setSerial}
        error={make.fields.serial_number}
      />
      <TextField label="Model" required value={type} onValue={setType} error={make.fields.device_type} />
      <TextField
        label="Firmware"
        hint="Optional; it also comes with a sync."
        value={firmware}
        onValue={setFirmware}
        error={make.fields.firmware_version}
      />
      {make.failed && (
        <Notice tone="bad" alert>
          {make.failed}
        </Notice>
      )}
    </Dialog>
  );
}
