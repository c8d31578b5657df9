// Puts a text on the clipboard and says so. Where the browser keeps the clipboard to itself (no https), the text is
// offered in a dialog instead, chosen, ready to be copied by hand.

import { useState } from "preact/hooks";
import { curlCommand } from "../curl";
import { Button } from "./button";
import { Dialog } from "./dialog";
import type { IconName } from "./icon";
import { toast } from "./toast";

interface CopyProps {
  text: string;
  children?: string;
  /** What was copied, for the toast: "API key". */
  what: string;
  icon?: IconName;
  kind?: "plain" | "quiet" | "primary";
  small?: boolean;
}

export function CopyButton({ text, children, what, icon = "copy", kind = "plain", small = true }: CopyProps) {
  const [byHand, setByHand] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast(`${what} copied`);
    } catch {
      setByHand(true);
    }
  };
  return (
    <>
      <Button kind={kind} small={small} icon={icon} onClick={copy} label={children ? undefined : `Copy ${what}`}>
        {children}
      </Button>
      {byHand && (
        <Dialog title={`Copy ${what}`} onClose={() => setByHand(false)}>
          <p>The browser does not let this page use the clipboard. Press Ctrl+C.</p>
          <textarea
            class="mono"
            readOnly
            rows={4}
            value={text}
            aria-label={what}
            autofocus
            onFocus={(event) => event.currentTarget.select()}
          />
        </Dialog>
      )}
    </>
  );
}

/** Copies the curl command that asks the API for what is on the screen. The key stays a variable of the shell. */
export function CurlButton({
  path,
  method,
  body,
  kind = "quiet",
}: {
  path: string;
  method?: string;
  body?: unknown;
  kind?: "plain" | "quiet";
}) {
  return (
    <CopyButton text={curlCommand(location.origin, path, method, body)} what="curl command" icon="terminal" kind={kind}>
      curl
    </CopyButton>
  );
}
