// Adds a patient of another study of one's own to this one.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Patient } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { Dialog } from "../../design/dialog";
import { SelectField } from "../../design/field";
import { Skeleton } from "../../design/skeleton";
import { toast } from "../../design/toast";
import { count, patientName } from "../../format";
import { useStudies } from "../../studies";
import { hasBegun } from "../states";

interface AttachProps {
  code: string;
  here: Patient[];
  onClose: () => void;
  onDone: () => void;
}

export function AttachPatient({ code, here, onClose, onDone }: AttachProps) {
  const { groups } = useStudies();
  const others = (groups ?? []).filter((group) => group.code !== code);
  const [from, setFrom] = useState("");
  const [uuid, setUuid] = useState("");
  const source = from || others[0]?.code;
  const { data: patients } = useResource<Patient[]>(source ? paths.patients(source) : null);
  const missing = (patients ?? []).filter(
    (patient) => hasBegun(patient) && !here.some((one) => one.uuid === patient.uuid),
  );
  const attach = useAction(async () => {
    await call("PUT", paths.patientOfGroup(code, uuid));
    toast("Patient added to this study");
    onDone();
    onClose();
  });

  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" type="submit" busy={attach.busy} disabled={uuid === ""}>
        Add to this study
      </Button>
    </>
  );
  const choose = (next: string) => {
    setFrom(next);
    // Else a patient of the study before would be added, whose name is no longer to be seen.
    setUuid("");
  };
  return (
    <Dialog title="Add a patient from another study" onClose={onClose} onSubmit={() => void attach.run()} foot={foot}>
      {others.length === 0 && <Notice>You are a member of no other study.</Notice>}
      {others.length > 0 && (
        <>
          <p class="soft">
            The patient stays in the other study too. Everybody in this study will see all measurements.
          </p>
          <SelectField
            label="Study"
            value={source ?? ""}
            onValue={choose}
            choices={others.map((group) => ({ value: group.code, text: group.name }))}
          />
          {!patients && <Skeleton lines={1} />}
          {patients && (
            <SelectField
              label="Patient"
              value={uuid}
              onValue={setUuid}
              choices={[
                {
                  value: "",
                  text:
                    missing.length > 0 ? `Choose one of ${count(missing.length, "patient")}` : "All are here already",
                },
                ...missing.map((patient) => ({ value: patient.uuid, text: patientName(patient) })),
              ]}
            />
          )}
        </>
      )}
      {attach.failed && (
        <Notice tone="bad" alert>
          {attach.failed}
        </Notice>
      )}
    </Dialog>
  );
}
