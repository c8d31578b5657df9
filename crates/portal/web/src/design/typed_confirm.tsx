// Asks before something that cannot be taken back: a word has to be typed, so that no habit of clicking is enough.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Notice } from "./badge";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { TextField } from "./field";

interface TypedConfirmProps {
  title: string;
  children: ComponentChildren;
  /** The verb on the button. */
  yes: string;
  /** What has to be typed. */
  word: string;
  /** What it is: "the study's code". */
  wordIs: string;
  busy?: boolean;
  failed?: string | null;
  onYes: () => void;
  onClose: () => void;
}

export function TypedConfirm({ title, children, yes, word, wordIs, busy, failed, onYes, onClose }: TypedConfirmProps) {
  const [typed, setTyped] = useState("");
  const fits = typed.trim() === word;
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="danger" type="submit" busy={busy} disabled={!fits}>
        {yes}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} onSubmit={() => fits && onYes()} foot={foot}>
      {children}
      <p>
        To go on, type {wordIs}: <strong class="mono">{word}</strong>
      </p>
      <TextField
        label={`Type ${word}`}
        autofocus
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onValue={setTyped}
      />
      {failed && (
        <Notice tone="bad" alert>
          {failed}
        </Notice>
      )}
    </Dialog>
  );
}
