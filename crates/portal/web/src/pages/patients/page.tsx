// The patients of a study as a list: who they are and what they wear. Vouchers that nobody has used are on their own page.

import { useMemo, useState } from "preact/hooks";
import * as paths from "../../api/paths";
import { useOwnSession } from "../../api/session";
import type { Patient } from "../../api/types";
import { useResource } from "../../api/use_resource";
import { Badge } from "../../design/badge";
import { Button, ButtonLink } from "../../design/button";
import { EmptyState } from "../../design/empty_state";
import { PageHead } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Column, Table } from "../../design/table";
import { Ago } from "../../design/time";
import { count, patientName, yearsOld } from "../../format";
import type { PageProps } from "../../page_props";
import * as pages from "../paths";
import { mayManage } from "../rights";
import { hasBegun } from "../states";
import { AttachPatient } from "./attach_patient";

export default function PatientsPage({ params: { code } }: PageProps) {
  const { account, wall_display } = useOwnSession();
  const { data, error, reload } = useResource<Patient[]>(paths.patients(code));
  const patients = useMemo(() => data?.filter(hasBegun), [data]);
  const openVouchers = (data?.length ?? 0) - (patients?.length ?? 0);
  const [attaching, setAttaching] = useState(false);
  const may = mayManage(account.role) && !wall_display;
  const tools = may && (
    <>
      <Button onClick={() => setAttaching(true)}>From another study</Button>
      <ButtonLink kind="primary" icon="plus" href={pages.vouchers(code)}>
        Vouchers
      </ButtonLink>
    </>
  );
  return (
    <>
      <PageHead title="Patients" tools={patients?.length ? tools : null} />
      {error && <Problem error={error} onRetry={reload} />}
      {!patients && !error && <Skeleton lines={8} />}
      {patients?.length === 0 && (
        <section class="panel">
          <EmptyState
            icon="person"
            title={openVouchers > 0 ? "Nobody has begun yet" : "There is no patient yet"}
            action={tools}
          >
            {openVouchers > 0
              ? `${count(openVouchers, "voucher")} ${openVouchers === 1 ? "is" : "are"} open: each becomes a patient when it is used.`
              : may
                ? "Make vouchers for new patients, or add patients that another of your studies holds."
                : "A researcher of the study makes vouchers for them."}
          </EmptyState>
        </section>
      )}
      {patients && patients.length > 0 && (
        <section class="panel">
          <Table
            noun="patient"
            rows={patients}
            columns={columnsOf(code)}
            rowKey={(patient) => patient.uuid}
            file={`patients-${code}`}
            curl={paths.patients(code)}
            order={{ key: "name", direction: "up" }}
            tools={openVouchers > 0 && <span class="small soft">{count(openVouchers, "open voucher")}</span>}
          />
        </section>
      )}
      {attaching && <AttachPatient code={code} here={data ?? []} onClose={() => setAttaching(false)} onDone={reload} />}
    </>
  );
}

function columnsOf(code: string): Column<Patient>[] {
  return [
    {
      key: "name",
      title: "Patient",
      value: patientName,
      cell: (patient) => (
        <a class="strong" href={pages.patient(code, patient.uuid)}>
          {patientName(patient)}
        </a>
      ),
    },
    { key: "external_patient_id", title: "Your identifier", value: (patient) => patient.external_patient_id },
    { key: "gender", title: "Gender", value: (patient) => patient.gender },
    { key: "age", title: "Age", end: true, value: (patient) => yearsOld(patient.birthday) },
    { key: "birthday", title: "Birthday", value: (patient) => patient.birthday, csvOnly: true },
    { key: "height", title: "Height, cm", value: (patient) => patient.height, csvOnly: true },
    { key: "weight", title: "Weight, kg", value: (patient) => patient.weight, csvOnly: true },
    { key: "country", title: "Country", value: (patient) => patient.country, csvOnly: true },
    { key: "customer_tag", title: "Tag", value: (patient) => patient.customer_tag },
    {
      key: "serial_number",
      title: "Bracelet",
      value: (patient) => patient.device?.serial_number,
      cell: (patient) =>
        patient.device ? <code>{patient.device.serial_number}</code> : <span class="faint">none</span>,
    },
    {
      key: "battery",
      title: "Battery",
      end: true,
      value: (patient) => patient.device?.battery_level,
      cell: (patient) =>
        patient.device?.battery_level == null ? null : <Battery percent={patient.device.battery_level} />,
    },
    {
      key: "updated_at",
      title: "Bracelet heard",
      value: (patient) => patient.device?.updated_at,
      cell: (patient) => <Ago time={patient.device?.updated_at} none="" />,
    },
    { key: "uuid", title: "Patient id", value: (patient) => patient.uuid, csvOnly: true },
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
          aria-label={`Record of ${patientName(patient)}`}
        >
          Record
        </ButtonLink>
      ),
    },
  ];
}

/** Low battery is 15 % or less; it is said, not only coloured. */
function Battery({ percent }: { percent: number }) {
  return percent <= 15 ? <Badge tone="warn">{percent} % low</Badge> : <>{percent} %</>;
}
