// The sheet of vouchers: cards to print and cut up, each with its QR code, which holds the voucher code and nothing
// else.

import type { Patient } from "../../api/types";
import { Button } from "../../design/button";
import { QrCode } from "../../design/qr_code";
import { count } from "../../format";

export function Sheet({ study, patients }: { study: string; patients: Patient[] }) {
  return (
    <section class="sheet-block" aria-label="Sheet of vouchers">
      <div class="row apart no-print">
        <h2>{count(patients.length, "voucher")} to print</h2>
        <Button kind="primary" icon="print" onClick={() => print()}>
          Print
        </Button>
      </div>
      <ul class="sheet">
        {patients.map((patient) => (
          <li key={patient.uuid}>
            <QrCode text={patient.code!} label={`QR code of voucher ${patient.code}`} />
            <div>
              <p class="small soft">{study}</p>
              <p class="voucher-code mono">{patient.code}</p>
              {patient.external_patient_id && <p class="small">For {patient.external_patient_id}</p>}
              <p class="tiny soft">Open the app, choose “I have a voucher”, scan or type this code.</p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
