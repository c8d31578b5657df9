// A new password, asked for twice so that a slip of the finger does not lock anybody out.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import { useAction } from "../../api/use_action";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { TextField } from "../../design/field";

/** The shortest that the server takes. */
const LEAST = 10;

export function PasswordForm({ onDone }: { onDone: () => void }) {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const change = useAction(() => call("PUT", paths.password(), { current, new: next }));
  const differs = again !== "" && again !== next;

  const submit = async (event: Event) => {
    event.preventDefault();
    if (differs || !(await change.run())) return;
    setCurrent("");
    setNext("");
    setAgain("");
    onDone();
  };

  return (
    <form class="stack" onSubmit={submit}>
      <TextField
        label="Current password"
        type="password"
        autocomplete="current-password"
        required
        value={current}
        onValue={setCurrent}
        error={change.fields.current}
      />
      <TextField
        label="New password"
        type="password"
        autocomplete="new-password"
        required
        minLength={LEAST}
        hint={`At least ${LEAST} characters`}
        value={next}
        onValue={setNext}
        error={change.fields.new ?? change.fields.password}
      />
      <TextField
        label="New password again"
        type="password"
        autocomplete="new-password"
        required
        value={again}
        onValue={setAgain}
        error={differs ? "This is not the same" : undefined}
      />
      {change.failed && Object.keys(change.fields).length === 0 && (
        <Notice tone="bad" alert>
          {change.failed}
        </Notice>
      )}
      <div>
        <Button kind="primary" type="submit" busy={change.busy} disabled={differs}>
          Change password
        </Button>
      </div>
    </form>
  );
}
