// Vouchers: each represents a patient who has not yet begun. Made many at once, printed as a sheet to cut up, gone from
// this list as soon as the patient has used it.

import { useState } from "preact/hooks";
import * as paths from "../../api/paths";
import { useOwnSession } from "../../api/session";
import type { Patient } from "../../api/types";
import { useResource } from "../../api/use_resource";
import { Button, ButtonLink } from "../../design/button";
import { CopyButton } from "../../design/copy_button";
import { EmptyState } from "../../design/empty_state";
import { PageHead } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Column, Table } from "../../design/table";
import type { PageProps } from "../../page_props";
import { useStudy } from "../../studies";
import * as pages from "../paths";
import { mayManage } from "../rights";
import { NewVouchers } from "./new_vouchers";
import { Sheet } from "./sheet";

export default function VouchersPage({ params: { code } }: PageProps) {
  const { account } = useOwnSession();
  const may = mayManage(account.role);
  const study = useStudy(code);
  const { data: patients, error, reload } = useResource<Patient[]>(may ? paths.patients(code) : null);
  const [making, setMaking] = useState(false);
  const [printing, setPrinting] = useState(false);
  const open = patients?.filter((patient) => patient.state === "pre_created" && patient.code) ?? [];
  const newButton = (
    <Button kind={printing ? "plain" : "primary"} icon="plus" onClick={() => setMaking(true)}>
      New vouchers
    </Button>
  );
  const columns: Column<Patient>[] = [
    {
      key: "code",
      title: "Voucher",
      value: (patient) => patient.code,
      cell: (patient) => (
        <span class="row">
          <code class="strong">{patient.code}</code>
          <CopyButton text={patient.code!} what="voucher code" kind="quiet" />
        </span>
      ),
    },
    { key: "external_patient_id", title: "Your identifier", value: (patient) => patient.external_patient_id },
    {
      key: "uuid",
      title: "Patient id",
      value: (patient) => patient.uuid,
      cell: (patient) => <code class="faint">{patient.uuid}</code>,
    },
    {
      key: "record",
      title: "Record",
      controls: true,
      value: () => null,
      cell: (patient) => (
        <ButtonLink
          small
          kind="quiet"
          href={pages.record(code, patient.uuid)}
          aria-label={`Record of voucher ${patient.code}`}
        >
          Record
        </ButtonLink>
      ),
    },
  ];

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
              curl={paths.patients(code)}
              tools={
                <Button small icon="print" onClick={() => setPrinting(!printing)} aria-expanded={printing}>
                  {printing ? "Hide sheet" : "Sheet with QR codes"}
                </Button>
              }
            />
          </section>
        )}
      </div>
      {printing && open.length > 0 && <Sheet study={study?.name ?? code} patients={open} />}
      {making && <NewVouchers code={code} onClose={() => setMaking(false)} onMade={reload} />}
    </>
  );
}
