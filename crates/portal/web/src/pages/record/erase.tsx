// The end of a patient's record. Their name has to be typed; what is left is a receipt, shown and to be kept.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Receipt } from "../../api/types";
import { useAction } from "../../api/use_action";
import { download } from "../../csv";
import { Notice } from "../../design/badge";
import { Button, ButtonLink } from "../../design/button";
import { Panel } from "../../design/page_head";
import { At } from "../../design/time";
import { TypedConfirm } from "../../design/typed_confirm";
import { number, patientName } from "../../format";
import * as pages from "../paths";
import type { PartProps } from "./part_props";

export function ErasePart({ patient, code, onErased }: PartProps & { onErased: (receipt: Receipt) => void }) {
  const [asking, setAsking] = useState(false);
  const erase = useAction(async () => {
    onErased(await call<Receipt>("DELETE", paths.patient(patient.uuid)));
  });
  return (
    <div class="narrow">
      <Panel title="Erase the patient">
        <div class="stack">
          <p>
            Everything that was measured, every summary, score and export, the name, the login and all settings are
            deleted for good, on every store. Nobody can bring them back.
          </p>
          <p class="soft">
            The audit log keeps that somebody with this id was here and was erased, without details. To keep the data,
            export them first.
          </p>
          <div class="row">
            <Button kind="danger" icon="trash" onClick={() => setAsking(true)}>
              Erase patient
            </Button>
            <ButtonLink kind="quiet" href={`${pages.exports(code)}?patient=${patient.uuid}`}>
              Export first
            </ButtonLink>
          </div>
        </div>
        {asking && (
          <TypedConfirm
            title={`Erase ${patientName(patient)}?`}
            yes="Erase for good"
            word={patientName(patient)}
            wordIs="the patient’s name"
            busy={erase.busy}
            failed={erase.failed}
            onYes={() => void erase.run()}
            onClose={() => setAsking(false)}
          >
            <Notice tone="bad">All data of this patient will be gone at once. There is no undo.</Notice>
          </TypedConfirm>
        )}
      </Panel>
    </div>
  );
}

/** What is left of an erased patient. */
export function ReceiptPanel({ code, receipt }: { code: string; receipt: Receipt }) {
  const counts = Object.entries(receipt.counts).sort(([a], [b]) => a.localeCompare(b));
  const save = () =>
    download(`erased-${receipt.uuid}.json`, `${JSON.stringify(receipt, null, 2)}\n`, "application/json");
  return (
    <div class="narrow">
      <Panel title="Erased">
        <div class="stack" role="status">
          <Notice tone="good">
            The patient was erased on <At time={receipt.erased_at} />. Keep this receipt: it is not shown again.
          </Notice>
          <dl class="facts">
            <dt>Patient id</dt>
            <dd>
              <code>{receipt.uuid}</code>
            </dd>
            {counts.map(([kind, amount]) => (
              <>
                <dt>{kind.replaceAll("_", " ")}</dt>
                <dd>{number(amount)}</dd>
              </>
            ))}
          </dl>
          <div class="row no-print">
            <Button kind="primary" icon="download" onClick={save}>
              Download receipt
            </Button>
            <Button icon="print" onClick={() => print()}>
              Print
            </Button>
            <ButtonLink kind="quiet" href={pages.patients(code)}>
              Back to the patients
            </ButtonLink>
          </div>
        </div>
      </Panel>
    </div>
  );
}
