// The list of vouchers: code, identifier, how old it is and when it ends.

import type { Patient } from "../../api/types";
import { Badge } from "../../design/badge";
import { Button, ButtonLink } from "../../design/button";
import { CopyButton } from "../../design/copy_button";
import type { Column } from "../../design/table";
import { Ago, At } from "../../design/time";
import * as pages from "../paths";

/** Whether it is too late to use the voucher. */
export function hasEnded({ voucher_expires_at: end }: Patient, nowMs: number): boolean {
  return end !== undefined && Date.parse(end) <= nowMs;
}

/** Without `onWithdraw` nothing can be withdrawn. */
export function voucherColumns(
  code: string,
  nowMs: number,
  onWithdraw: ((voucher: Patient) => void) | null,
): Column<Patient>[] {
  return [
    {
      key: "code",
      title: "Voucher",
      value: (voucher) => voucher.code,
      cell: (voucher) => (
        <span class="row">
          <code class="strong">{voucher.code}</code>
          <CopyButton text={voucher.code!} what="voucher code" kind="quiet" />
        </span>
      ),
    },
    { key: "external_patient_id", title: "Your identifier", value: (voucher) => voucher.external_patient_id },
    {
      key: "voucher_created_at",
      title: "Made",
      value: (voucher) => voucher.voucher_created_at,
      cell: (voucher) => <Ago time={voucher.voucher_created_at} />,
    },
    {
      key: "voucher_expires_at",
      title: "Ends",
      value: (voucher) => voucher.voucher_expires_at,
      cell: (voucher) => (
        <>
          {hasEnded(voucher, nowMs) && <Badge tone="warn">Ended</Badge>}{" "}
          <At time={voucher.voucher_expires_at} dayOnly />
        </>
      ),
    },
    { key: "uuid", title: "Patient id", value: (voucher) => voucher.uuid, csvOnly: true },
    {
      key: "controls",
      title: "Record and withdrawal",
      controls: true,
      value: () => null,
      cell: (voucher) => (
        <>
          <ButtonLink
            small
            kind="quiet"
            href={pages.record(code, voucher.uuid)}
            aria-label={`Record of voucher ${voucher.code}`}
          >
            Record
          </ButtonLink>
          {onWithdraw && (
            <Button
              small
              kind="quiet"
              icon="trash"
              label={`Withdraw voucher ${voucher.code}`}
              onClick={() => onWithdraw(voucher)}
            />
          )}
        </>
      ),
    },
  ];
}
