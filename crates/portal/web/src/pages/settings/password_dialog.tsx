// A step that asks for the password again, since a page that is left open must not be enough for it.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../../api/use_action";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { Dialog } from "../../design/dialog";
import { TextField } from "../../design/field";

interface Props {
  title: string;
  /** What the button that goes on says. */
  action: string;
  kind: "primary" | "danger";
  /** Goes on with the password that was typed. */
  onPassword: (password: string) => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}

export function PasswordDialog({ title, action, kind, onPassword, onClose, children }: Props) {
  const [password, setPassword] = useState("");
  const step = useAction(() => onPassword(password));
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind={kind} type="submit" busy={step.busy}>
        {action}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} onSubmit={() => void step.run()} foot={foot}>
      {children}
      <TextField
        label="Password"
        type="password"
        autocomplete="current-password"
        required
        autofocus
        value={password}
        onValue={setPassword}
        error={step.fields.password}
      />
      {step.failed && !step.fields.password && (
        <Notice tone="bad" alert>
          {step.failed}
        </Notice>
      )}
    </Dialog>
  );
}
