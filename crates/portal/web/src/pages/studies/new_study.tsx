// Makes a study.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Group } from "../../api/types";
import { useAction } from "../../api/use_action";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { Dialog } from "../../design/dialog";
import { TextArea, TextField } from "../../design/field";
import { toast } from "../../design/toast";
import { reloadStudies } from "../../studies";

export function NewStudy({ onClose, onMade }: { onClose: () => void; onMade: (group: Group) => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const make = useAction(async () => {
    const group = await call<Group>("POST", paths.groups(), { name: name.trim(), description: description.trim() });
    // Before the step to its page, whose head names the study.
    await reloadStudies();
    toast(`Study “${group.name}” made`);
    onClose();
    onMade(group);
  });

  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" type="submit" busy={make.busy}>
        Make study
      </Button>
    </>
  );
  return (
    <Dialog title="New study" onClose={onClose} onSubmit={() => void make.run()} foot={foot}>
      <TextField
        label="Name"
        required
        autofocus
        maxLength={200}
        value={name}
        onValue={setName}
        error={make.fields.name}
        placeholder="Sleep after surgery"
      />
      <TextArea
        label="Description"
        rows={3}
        hint="Optional. What is measured, in which patients, until when."
        value={description}
        onValue={setDescription}
        error={make.fields.description}
      />
      {make.failed && !make.fields.name && (
        <Notice tone="bad" alert>
          {make.failed}
        </Notice>
      )}
    </Dialog>
  );
}
