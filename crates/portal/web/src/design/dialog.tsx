// A question in front of the page. The browser's own <dialog> keeps the focus inside, closes on Escape and gives the
// focus back to where it was.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./button";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** The buttons at the foot. */
  foot?: ComponentChildren;
  /** With it the dialog is a form, and Enter does this. */
  onSubmit?: () => void;
  wide?: boolean;
  /** What it shows is not shown again: only its own button at the foot closes it, neither Escape nor a cross. */
  mustAnswer?: boolean;
}

export function Dialog({ title, onClose, children, foot, onSubmit, wide, mustAnswer }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current!;
    // A dialog that is closed gives the focus back, but one that has left the page no longer can.
    const before = document.activeElement as HTMLElement | null;
    element.showModal();
    element.querySelector<HTMLElement>("[autofocus]")?.focus();
    return () => {
      element.close();
      before?.focus?.();
    };
  }, []);

  const inner = (
    <>
      <header>
        <h2 id={heading}>{title}</h2>
        {!mustAnswer && <Button kind="quiet" small icon="close" label="Close" onClick={onClose} />}
      </header>
      <div class="body stack">{children}</div>
      {foot && <footer>{foot}</footer>}
    </>
  );
  return (
    <dialog
      ref={dialog}
      class={wide ? "dialog wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        if (!mustAnswer) onClose();
      }}
      onKeyDown={(event) => {
        // A second Escape would close it without asking. One in a dialog above it is that one's.
        const here = (event.target as Element).closest("dialog") === dialog.current;
        if (mustAnswer && here && event.key === "Escape") event.preventDefault();
      }}
    >
      {onSubmit ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            onSubmit();
          }}
        >
          {inner}
        </form>
      ) : (
        <div class="form">{inner}</div>
      )}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  children: ComponentChildren;
  /** The verb on the button. */
  yes: string;
  danger?: boolean;
  busy?: boolean;
  failed?: string | null;
  onYes: () => void;
  onClose: () => void;
}

/** Asks before something is done. */
export function Confirm({ title, children, yes, danger, busy, failed, onYes, onClose }: ConfirmProps) {
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind={danger ? "danger" : "primary"} type="submit" busy={busy}>
        {yes}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} onSubmit={onYes} foot={foot}>
      {children}
      {failed && (
        <p class="notice bad" role="alert">
          {failed}
        </p>
      )}
    </Dialog>
  );
}
