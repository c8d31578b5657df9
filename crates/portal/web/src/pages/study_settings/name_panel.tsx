// Name and description of a study, and the codes it is known by.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Group } from "../../api/types";
import { useAction } from "../../api/use_action";
import { Button } from "../../design/button";
import { CopyButton } from "../../design/copy_button";
import { TextArea, TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { toast } from "../../design/toast";
import { reloadStudies } from "../../studies";

export function NamePanel({ study, may }: { study: Group; may: boolean }) {
  const [name, setName] = useState(study.name);
  const [description, setDescription] = useState(study.description);
  const save = useAction(async () => {
    await call("PATCH", paths.group(study.code), { name: name.trim(), description: description.trim() });
    await reloadStudies();
    toast("Study saved");
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void save.run();
  };
  const codes = (
    <dl class="facts">
      <dt>Code</dt>
      <dd class="row">
        <code>{study.code}</code>
        <CopyButton text={study.code} what="study code" kind="quiet" />
      </dd>
      <dt>HCP code</dt>
      <dd class="row">
        <code>{study.hcpCode}</code>
        <CopyButton text={study.hcpCode} what="HCP code" kind="quiet" />
      </dd>
    </dl>
  );
  return (
    <Panel title="Study">
      {may ? (
        <form class="stack" onSubmit={submit}>
          <TextField label="Name" required maxLength={200} value={name} onValue={setName} error={save.fields.name} />
          <TextArea
            label="Description"
            rows={3}
            value={description}
            onValue={setDescription}
            error={save.fields.description}
          />
          {codes}
          {save.failed && (
            <p class="bad-text" role="alert">
              {save.failed}
            </p>
          )}
          <div>
            <Button
              kind="primary"
              type="submit"
              busy={save.busy}
              disabled={name === study.name && description === study.description}
            >
              Save
            </Button>
          </div>
        </form>
      ) : (
        <div class="stack">
          <p>{study.description || study.name}</p>
          {codes}
        </div>
      )}
    </Panel>
  );
}
