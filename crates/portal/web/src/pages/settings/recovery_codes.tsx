// Recovery codes of the second factor: how many are left, and new ones. They are shown once, when they are made.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { RecoveryCodes } from "../../api/types";
import { useResource } from "../../api/use_resource";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { CopyButton } from "../../design/copy_button";
import { Dialog } from "../../design/dialog";
import { Problem } from "../../design/problem";
import { PasswordDialog } from "./password_dialog";

/** With so few left, the page asks for new ones. */
const FEW = 3;

export function RecoveryCodesRow() {
  const { data, error, reload } = useResource<{ left: number }>(paths.recoveryCodes());
  const [asking, setAsking] = useState(false);
  const [made, setMade] = useState<string[] | null>(null);
  if (error) return <Problem error={error} onRetry={reload} />;
  if (!data) return null;
  return (
    <>
      {data.left <= FEW && (
        <Notice tone="warn">Make new recovery codes: without them and without the app you cannot sign in.</Notice>
      )}
      <div class="row">
        <span>{leftWords(data.left)}</span>
        <Button onClick={() => setAsking(true)}>New recovery codes</Button>
      </div>
      {asking && <Renew onClose={() => setAsking(false)} onMade={setMade} />}
      {made && (
        <ShownOnce
          codes={made}
          onClose={() => {
            setMade(null);
            reload();
          }}
        />
      )}
    </>
  );
}

/** The codes, which only the button at the foot puts away. */
export function ShownOnce({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  return (
    <Dialog
      title="Your recovery codes"
      mustAnswer
      onClose={onClose}
      foot={
        <Button kind="primary" onClick={onClose}>
          I have kept them
        </Button>
      }
    >
      <Notice tone="warn">
        Print them or keep them in a password manager, apart from the device with the app. They are not shown again.
      </Notice>
      <p>Each signs you in once instead of the six digits.</p>
      <ul class="plain">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <CopyButton text={codes.join("\n")} what="Recovery codes">
        Copy all
      </CopyButton>
    </Dialog>
  );
}

function Renew({ onClose, onMade }: { onClose: () => void; onMade: (codes: string[]) => void }) {
  const renew = async (password: string) => {
    const { recovery_codes } = await call<RecoveryCodes>("POST", paths.recoveryCodes(), { password });
    onClose();
    onMade(recovery_codes);
  };
  return (
    <PasswordDialog
      title="New recovery codes?"
      action="Make new codes"
      kind="primary"
      onPassword={renew}
      onClose={onClose}
    >
      <p>Your earlier codes stop working.</p>
    </PasswordDialog>
  );
}

function leftWords(left: number): string {
  if (left === 0) return "No recovery code is left.";
  return left === 1 ? "1 recovery code is left." : `${left} recovery codes are left.`;
}
