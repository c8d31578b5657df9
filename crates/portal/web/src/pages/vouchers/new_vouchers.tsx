// Makes vouchers, one request after the other. When the server asks for patience it waits; when something fails, those
// that are made stay, and the dialog says how many are missing.

import { useEffect, useRef, useState } from "preact/hooks";
import { explain } from "../../api/explain";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { Dialog } from "../../design/dialog";
import { TextArea, TextField } from "../../design/field";
import { toast } from "../../design/toast";
import { count } from "../../format";
import { identifiersOf, makeVouchers } from "./make_vouchers";

const MOST = 500;

export function NewVouchers({ code, onClose, onMade }: { code: string; onClose: () => void; onMade: () => void }) {
  const [amount, setAmount] = useState("10");
  const [text, setText] = useState("");
  const [made, setMade] = useState<number | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  const stop = useRef(false);
  // A page that is left makes no more: nobody would see it, and the next to sign in would make them.
  useEffect(
    () => () => {
      stop.current = true;
    },
    [],
  );
  const identifiers = identifiersOf(text);
  const wanted = identifiers.length > 0 ? identifiers.length : Math.max(0, Math.floor(Number(amount) || 0));

  const make = async () => {
    setFailed(null);
    setMade(0);
    stop.current = false;
    let done = 0;
    try {
      await makeVouchers(
        code,
        wanted,
        identifiers,
        (so_far) => {
          done = so_far;
          setMade(so_far);
        },
        () => stop.current,
      );
      toast(`${count(done, "voucher")} made`);
      onClose();
    } catch (error) {
      setFailed(`${count(done, "voucher")} of ${wanted} made, then: ${explain(error)}`);
      setMade(null);
    }
    // Also after a failure: those that were made are valid, and the list has to show them.
    if (done > 0) onMade();
  };

  const busy = made !== null;
  const close = () => {
    stop.current = true;
    if (!busy) onClose();
  };
  const foot = (
    <>
      <Button onClick={close}>{busy ? "Stop" : "Cancel"}</Button>
      <Button kind="primary" type="submit" busy={busy} disabled={wanted < 1 || wanted > MOST}>
        {busy ? `${made} of ${wanted}` : `Make ${count(wanted, "voucher")}`}
      </Button>
    </>
  );
  return (
    <Dialog title="New vouchers" onClose={close} onSubmit={() => void make()} foot={foot}>
      <TextField
        label="How many"
        type="number"
        min={1}
        max={MOST}
        autofocus
        disabled={busy || identifiers.length > 0}
        value={identifiers.length > 0 ? String(identifiers.length) : amount}
        onValue={setAmount}
      />
      <TextArea
        label="Your own identifiers"
        rows={4}
        hint="Optional, one a line: each gets a voucher and is shown in the lists. They stay in the database of persons, apart from the measurements."
        value={text}
        onValue={setText}
      />
      {busy && <progress max={wanted} value={made ?? 0} aria-label="Vouchers made" />}
      {failed && (
        <Notice tone="bad" alert>
          {failed}
        </Notice>
      )}
    </Dialog>
  );
}
