// A password that staff have set must be replaced before anything else.

import { refreshSession, signOut } from "../../api/session";
import { useAction } from "../../api/use_action";
import { Button } from "../../design/button";
import { Brand } from "../../shell";
import { PasswordForm } from "../settings/password_form";

export function NewPassword() {
  const leave = useAction(signOut);
  return (
    <div class="gate">
      <main class="gate-card">
        <Brand />
        <div class="panel stack">
          <h1>Choose a new password</h1>
          <p class="soft">The one you have was set by somebody else. Choose your own before you go on.</p>
          <PasswordForm onDone={() => void refreshSession()} />
          <Button kind="quiet" onClick={() => void leave.run()} busy={leave.busy}>
            Sign out
          </Button>
          {leave.failed && (
            <p class="bad-text" role="alert">
              {leave.failed}
            </p>
          )}
        </div>
      </main>
    </div>
  );
}
