// Takes a voucher back that nobody has used. The service erases the patient that it was made for, who is nobody yet.

import { call, get } from "../../api/client";
import * as paths from "../../api/paths";
import type { Patient, Receipt } from "../../api/types";
import { useAction } from "../../api/use_action";
import { Confirm } from "../../design/dialog";
import { toast } from "../../design/toast";
import { hasBegun } from "../states";

interface WithdrawProps {
  code: string;
  voucher: Patient;
  onClose: () => void;
  onDone: () => void;
}

export function Withdraw({ code, voucher, onClose, onDone }: WithdrawProps) {
  const withdraw = useAction(async () => {
    // The list may be old, and a patient begin at any time: the service itself refuses to erase one who has.
    const patients = await get<Patient[]>(paths.vouchers(code));
    const now = patients.find((one) => one.uuid === voucher.uuid);
    if (now && hasBegun(now)) throw new Error("the voucher has been used; the patient is in the list of patients");
    if (now) await call<Receipt>("DELETE", paths.unusedVoucher(voucher.uuid));
    toast("Voucher withdrawn");
    onDone();
    onClose();
  });
  const identifier = voucher.external_patient_id;
  return (
    <Confirm
      title="Withdraw the voucher?"
      yes="Withdraw"
      danger
      busy={withdraw.busy}
      failed={withdraw.failed}
      onYes={() => void withdraw.run()}
      onClose={onClose}
    >
      <p>
        <code class="strong">{voucher.code}</code>
        {identifier && <> for {identifier}</>} can no longer be used and leaves this list, with what its record holds.
        Printed sheets still show it.
      </p>
    </Confirm>
  );
}
