// A new password for a patient who has lost theirs. They must choose their own at the next login.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import { useAction } from "../../api/use_action";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { toast } from "../../design/toast";
import type { PartProps } from "./part_props";

export function PasswordPanel({ patient }: PartProps) {
  const [password, setPassword] = useState("");
  const reset = useAction(async () => {
    await call("POST", paths.resetPassword(patient.uuid), { password });
    setPassword("");
    toast("Password reset");
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void reset.run();
  };
  return (
    <Panel
      title="Reset the app’s password"
      note="The patient is signed out everywhere and chooses a new one at the next login."
    >
      <form class="stack" onSubmit={submit}>
        <TextField
          label="Temporary password"
          autocomplete="off"
          spellcheck={false}
          required
          minLength={10}
          hint="At least 10 characters. Give it to the patient."
          value={password}
          onValue={setPassword}
          error={reset.fields.password}
        />
        {reset.failed && (
          <Notice tone="bad" alert>
            {reset.failed}
          </Notice>
        )}
        <div>
          <Button type="submit" busy={reset.busy}>
            Reset password
          </Button>
        </div>
      </form>
    </Panel>
  );
}
