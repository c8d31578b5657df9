// Makes an API key: name, studies, end. The key is shown once and never again, so the dialog stays until it is
// dismissed.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { ApiKey } from "../../api/types";
import { useAction } from "../../api/use_action";
import { curlCommand } from "../../curl";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { CopyButton } from "../../design/copy_button";
import { Dialog } from "../../design/dialog";
import { CheckGroup, SelectField, TextField } from "../../design/field";
import { useStudies } from "../../studies";
import { newKeyBody } from "./new_key_body";

const LIFETIMES = [
  { value: "30", text: "30 days" },
  { value: "90", text: "90 days" },
  { value: "365", text: "A year" },
  { value: "", text: "No end" },
];

export function NewKey({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const { groups } = useStudies();
  const [name, setName] = useState("");
  // Keys without an end are forgotten in notebooks; who wants one has to choose it.
  const [days, setDays] = useState("90");
  const [codes, setCodes] = useState<string[]>([]);
  const [made, setMade] = useState<ApiKey | null>(null);
  const make = useAction(async () => {
    setMade(await call<ApiKey>("POST", paths.keys(), newKeyBody(name, days, codes, Date.now())));
    onMade();
  });

  if (made) return <ShownOnce made={made} onClose={onClose} />;
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" type="submit" busy={make.busy}>
        Make key
      </Button>
    </>
  );
  return (
    <Dialog title="New API key" onClose={onClose} onSubmit={() => void make.run()} foot={foot}>
      <TextField
        label="Name"
        required
        autofocus
        maxLength={100}
        hint="What will use it: “Notebook of the sleep study”"
        value={name}
        onValue={setName}
        error={make.fields.name}
      />
      <SelectField
        label="Works for"
        value={days}
        onValue={setDays}
        choices={LIFETIMES}
        error={make.fields.expires_at}
      />
      {groups && groups.length > 0 && (
        <CheckGroup
          label="Only these studies"
          hint="None chosen means all of yours, also later ones."
          choices={groups.map((group) => ({ value: group.code, text: `${group.name} (${group.code})` }))}
          chosen={codes}
          onChosen={setCodes}
        />
      )}
      {make.failed && (
        <Notice tone="bad" alert>
          {make.failed}
        </Notice>
      )}
    </Dialog>
  );
}

function ShownOnce({ made, onClose }: { made: ApiKey; onClose: () => void }) {
  const key = made.key ?? "";
  return (
    <Dialog
      title="Your new API key"
      mustAnswer
      onClose={onClose}
      foot={
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <Notice tone="warn">Copy it now. It is not shown again; only a digest of it is kept.</Notice>
      <div class="secret">
        <code>{key}</code>
        <CopyButton text={key} what="API key">
          Copy
        </CopyButton>
      </div>
      <p class="soft">Keep it in a variable of your shell, then the “curl” buttons of the portal work as they are:</p>
      <div class="secret">
        <code>export PULSEWARD_API_KEY=…</code>
        <CopyButton text={`export PULSEWARD_API_KEY='${key}'`} what="command">
          Copy
        </CopyButton>
      </div>
      <div class="secret">
        <code>{curlCommand(location.origin, paths.groups())}</code>
        <CopyButton text={curlCommand(location.origin, paths.groups())} what="curl command">
          Copy
        </CopyButton>
      </div>
    </Dialog>
  );
}
