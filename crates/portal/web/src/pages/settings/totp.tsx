// The second factor: six digits of an authenticator app (RFC 6238). It counts only after one code has been typed, so
// that nobody locks themselves out with a picture that was never scanned.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import { refreshSession, useOwnSession } from "../../api/session";
import type { RecoveryCodes } from "../../api/types";
import { useAction } from "../../api/use_action";
import { Badge } from "../../design/badge";
import { Button } from "../../design/button";
import { CopyButton } from "../../design/copy_button";
import { Dialog } from "../../design/dialog";
import { TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { QrCode } from "../../design/qr_code";
import { toast } from "../../design/toast";
import { PasswordDialog } from "./password_dialog";
import { RecoveryCodesRow, ShownOnce } from "./recovery_codes";

interface Secret {
  secret: string;
  otpauth_url: string;
}

export function TotpPanel() {
  const { totp } = useOwnSession();
  const [secret, setSecret] = useState<Secret | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const [removing, setRemoving] = useState(false);
  const begin = useAction(async () => setSecret(await call<Secret>("POST", paths.totp())));
  return (
    <Panel title="Second factor" note="Asks for six digits of an authenticator app when you sign in.">
      <div class="row">
        {totp ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>}
        {totp ? (
          <Button onClick={() => setRemoving(true)}>Turn off</Button>
        ) : (
          <Button busy={begin.busy} onClick={() => void begin.run()}>
            Set up
          </Button>
        )}
      </div>
      {begin.failed && <p class="bad-text">{begin.failed}</p>}
      {/* Not before its codes are put away: counting them meanwhile would read them for nothing. */}
      {totp && !codes && <RecoveryCodesRow />}
      {secret && <SetUp secret={secret} onClose={() => setSecret(null)} onMade={setCodes} />}
      {codes && <ShownOnce codes={codes} onClose={() => setCodes(null)} />}
      {removing && <TurnOff onClose={() => setRemoving(false)} />}
    </Panel>
  );
}

interface SetUpProps {
  secret: Secret;
  onClose: () => void;
  onMade: (codes: string[]) => void;
}

function SetUp({ secret, onClose, onMade }: SetUpProps) {
  const [code, setCode] = useState("");
  const confirm = useAction(async () => {
    const { recovery_codes } = await call<RecoveryCodes>("PUT", paths.totp(), { code: code.replace(/\s/g, "") });
    // Before anything else can fail: nobody can read them again.
    onMade(recovery_codes);
    onClose();
    await refreshSession();
    toast("Second factor is on");
  });
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" type="submit" busy={confirm.busy}>
        Turn on
      </Button>
    </>
  );
  return (
    <Dialog title="Set up the second factor" onClose={onClose} onSubmit={() => void confirm.run()} foot={foot}>
      <p>1. Scan this with your authenticator app.</p>
      <QrCode text={secret.otpauth_url} label="Code for the authenticator app" />
      <div class="secret">
        <code>{secret.secret}</code>
        <CopyButton text={secret.secret} what="secret">
          Copy
        </CopyButton>
      </div>
      <TextField
        label="2. Type the six digits that it shows"
        required
        inputMode="numeric"
        autocomplete="one-time-code"
        pattern="[0-9 ]{6,7}"
        value={code}
        onValue={setCode}
        error={confirm.fields.code ?? confirm.failed ?? undefined}
      />
    </Dialog>
  );
}

function TurnOff({ onClose }: { onClose: () => void }) {
  const remove = async (password: string) => {
    await call("DELETE", paths.totp(), { password });
    await refreshSession();
    toast("Second factor is off");
    onClose();
  };
  return (
    <PasswordDialog
      title="Turn off the second factor?"
      action="Turn off"
      kind="danger"
      onPassword={remove}
      onClose={onClose}
    >
      <p>From then on the password alone is enough to sign in.</p>
    </PasswordDialog>
  );
}
