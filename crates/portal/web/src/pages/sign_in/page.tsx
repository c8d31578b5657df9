// Signing in: e-mail and password, then the six digits when the account asks for them. Too many wrong tries make the
// server say how long to wait; the page counts down so that nobody wonders.

import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { explain, waitWords } from "../../api/explain";
import { signIn } from "../../api/session";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { CheckField, TextField } from "../../design/field";
import { Brand } from "../../shell";

const WHY = {
  never: null,
  left: "You are signed out.",
  left_elsewhere: "You are signed out: you signed out in another tab.",
  ended:
    "You were signed out, because nobody used the portal for a while or the session was ended. Sign in to go on where you were.",
};

export function SignIn({ because }: { because: keyof typeof WHY }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [totp, setTotp] = useState("");
  const [asksTotp, setAsksTotp] = useState(false);
  const [recovering, setRecovering] = useState(false);
  const [wall, setWall] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string | null>(null);
  const [waitS, setWaitS] = useCountdown();

  useEffect(() => {
    document.title = "Sign in · Pulseward";
  }, []);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setFailed(null);
    try {
      await signIn({
        email: email.trim(),
        password,
        ...(asksTotp ? { totp: totp.replace(/\s/g, "") } : {}),
        ...(wall ? { wall_display: true } : {}),
      });
    } catch (error) {
      refuse(error);
      setBusy(false);
    }
  };

  const refuse = (error: unknown) => {
    const code = error instanceof ApiError ? error.code : "";
    if (code === "totp_required" && !asksTotp) return setAsksTotp(true);
    if (error instanceof ApiError && error.status === 429) return setWaitS(error.retryAfterS ?? 60);
    if (code === "invalid_credentials" && asksTotp)
      setFailed(
        recovering
          ? "The password or the recovery code is not right. Each works once."
          : "The password or the code is not right. Codes change every 30 seconds.",
      );
    else setFailed(explain(error));
    setTotp("");
  };

  return (
    <div class="gate">
      <main class="gate-card">
        <Brand />
        <form class="panel stack" onSubmit={submit}>
          <h1>Sign in</h1>
          {WHY[because] && <Notice>{WHY[because]}</Notice>}
          <TextField
            label="E-mail"
            type="email"
            name="email"
            autocomplete="username"
            required
            autofocus
            value={email}
            onValue={setEmail}
          />
          <TextField
            label="Password"
            type="password"
            name="password"
            autocomplete="current-password"
            required
            value={password}
            onValue={setPassword}
          />
          {asksTotp && (
            <>
              {recovering ? (
                <RecoveryField value={totp} onValue={setTotp} />
              ) : (
                <CodeField value={totp} onValue={setTotp} />
              )}
              <Button
                kind="quiet"
                small
                onClick={() => {
                  setRecovering(!recovering);
                  setTotp("");
                }}
              >
                {recovering ? "Use the app" : "Use a recovery code"}
              </Button>
            </>
          )}
          <CheckField
            label="Wall display"
            hint="View only, and not locked when nobody touches it."
            checked={wall}
            onChecked={setWall}
          />
          <div role="alert">
            {waitS > 0 && <Notice tone="warn">Too many tries. Wait {waitWords(waitS)} before the next one.</Notice>}
            {failed && waitS === 0 && <Notice tone="bad">{failed}</Notice>}
          </div>
          <Button kind="primary" type="submit" busy={busy} disabled={waitS > 0}>
            Sign in
          </Button>
        </form>
        <p class="small faint">No account? Your administrator makes one.</p>
      </main>
    </div>
  );
}

function RecoveryField({ value, onValue }: { value: string; onValue: (value: string) => void }) {
  return (
    <TextField
      label="Recovery code"
      name="recovery-code"
      autocomplete="off"
      required
      autofocus
      hint="Sixteen letters and digits that you kept when you set the app up. Each works once."
      value={value}
      onValue={onValue}
    />
  );
}

function CodeField({ value, onValue }: { value: string; onValue: (value: string) => void }) {
  return (
    <TextField
      label="Code from your authenticator app"
      name="totp"
      inputMode="numeric"
      autocomplete="one-time-code"
      pattern="[0-9 ]{6,7}"
      required
      autofocus
      hint="Six digits"
      value={value}
      onValue={onValue}
    />
  );
}

/** Seconds that run down to 0. */
function useCountdown(): [number, (seconds: number) => void] {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    if (left === 0) return;
    // A wait may end within a second; below 0 it would run on, and what is reported at 0 would never be seen.
    const timer = window.setTimeout(() => setLeft(Math.max(left - 1, 0)), 1_000);
    return () => clearTimeout(timer);
  }, [left]);
  return [left, setLeft];
}
