// Vouchers: each represents a patient who has not yet begun. Made many at once, printed as a sheet to cut up, gone from
// this list as soon as the patient has used it.

import { useState } from "preact/hooks";
import * as paths from "../../api/paths";
import { useOwnSession } from "../../api/session";
import type { Patient } from "../../api/types";
import { useResource } from "../../api/use_resource";
import { Button } from "../../design/button";
import { EmptyState } from "../../design/empty_state";
import { PageHead } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { Table } from "../../design/table";
import { useNow } from "../../design/time";
import type { PageProps } from "../../page_props";
import { useStudy } from "../../studies";
import { mayManage } from "../rights";
import { hasBegun } from "../states";
import { hasEnded, voucherColumns } from "./columns";
import { NewVouchers } from "./new_vouchers";
import { Sheet } from "./sheet";
import { Withdraw } from "./withdraw";

export default function VouchersPage({ params: { code } }: PageProps) {
  const { account, wall_display } = useOwnSession();
  const may = mayManage(account.role);
  const study = useStudy(code);
  const { data: patients, error, reload } = useResource<Patient[]>(may ? paths.vouchers(code) : null);
  const [making, setMaking] = useState(false);
  const [printing, setPrinting] = useState(false);
  const [withdrawn, setWithdrawn] = useState<Patient | null>(null);
  const now = useNow(60);
  const open = patients?.filter((patient) => !hasBegun(patient) && patient.code) ?? [];
  const usable = open.filter((voucher) => !hasEnded(voucher, now));
  const columns = voucherColumns(code, now, wall_display ? null : setWithdrawn);
  const newButton = !wall_display && (
    <Button kind={printing ? "plain" : "primary"} icon="plus" onClick={() => setMaking(true)}>
      New vouchers
    </Button>
  );
  if (!may)
    return (
      <>
        <PageHead title="Vouchers" />
        <EmptyState icon="lock" title="Vouchers are for researchers">
          A researcher of this study makes them.
        </EmptyState>
      </>
    );
  return (
    <>
      <div class="no-print">
        <PageHead
          title="Vouchers"
          note="One for each patient. The patient types or scans it in the app; then the record is confirmed and the voucher is used up."
          tools={open.length > 0 && newButton}
        />
        {error && <Problem error={error} onRetry={reload} />}
        {!patients && !error && <Skeleton lines={5} />}
        {patients && open.length === 0 && (
          <section class="panel">
            <EmptyState
              icon="plus"
              title={patients.length > 0 ? "Every voucher has been used" : "No patient yet"}
              action={newButton}
            >
              Make as many vouchers as you expect patients. You can print them as a sheet with QR codes.
            </EmptyState>
          </section>
        )}
        {open.length > 0 && (
          <section class="panel">
            <Table
              noun="open voucher"
              rows={open}
              columns={columns}
              rowKey={(patient) => patient.uuid}
              file={`vouchers-${code}`}
              curl={paths.vouchers(code)}
              tools={
                <Button small icon="print" onClick={() => setPrinting(!printing)} aria-expanded={printing}>
                  {printing ? "Hide sheet" : "Sheet with QR codes"}
                </Button>
              }
            />
          </section>
        )}
      </div>
      {printing && usable.length > 0 && <Sheet study={study?.name ?? code} patients={usable} />}
      {withdrawn && <Withdraw code={code} voucher={withdrawn} onClose={() => setWithdrawn(null)} onDone={reload} />}
      {making && <NewVouchers code={code} onClose={() => setMaking(false)} onMade={reload} />}
    </>
  );
}
