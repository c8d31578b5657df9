// A patient's record: everything about them but their measurements. Who they are, what they wear, what raises an
// alarm, which studies hold them, who has looked, and how they are erased.

import { useState } from "preact/hooks";
import * as paths from "../../api/paths";
import { useOwnSession } from "../../api/session";
import type { Patient, Receipt } from "../../api/types";
import { useResource } from "../../api/use_resource";
import { Badge, Notice } from "../../design/badge";
import { ButtonLink } from "../../design/button";
import { CopyButton } from "../../design/copy_button";
import { PageHead } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Tab, Tabs } from "../../design/tabs";
import { patientName } from "../../format";
import type { PageProps } from "../../page_props";
import { stepQuery, useAddress } from "../../router";
import * as pages from "../paths";
import { mayManage } from "../rights";
import { AlarmsPart } from "./alarms";
import { BraceletPart } from "./bracelet";
import { ErasePart, ReceiptPanel } from "./erase";
import { NewsPart } from "./news";
import type { PartProps } from "./part_props";
import { PasswordPanel } from "./password";
import { FilingPanel, ProfilePanel } from "./profile";
import { StudiesPanel } from "./studies_panel";

export default function RecordPage({ params: { code, uuid } }: PageProps) {
  const { account, wall_display } = useOwnSession();
  const { query } = useAddress();
  const { data: patients, error, reload } = useResource<Patient[]>(paths.patients(code));
  const [erased, setErased] = useState<Receipt | null>(null);
  const patient = patients?.find((one) => one.uuid === uuid);
  // The name goes with the patient.
  if (erased) {
    return (
      <>
        <PageHead title="Erased patient" />
        <ReceiptPanel code={code} receipt={erased} />
      </>
    );
  }
  if (error || (patients && !patient)) {
    return (
      <>
        <PageHead title="Record" />
        {error ? (
          <Problem error={error} onRetry={reload} />
        ) : (
          <Notice tone="warn">This study does not hold this patient (any more).</Notice>
        )}
      </>
    );
  }
  if (!patient) return <Skeleton lines={6} />;

  const manages = mayManage(account.role) && !wall_display;
  const part = { code, patient, onChanged: reload };
  const tabs: Tab[] = [
    { key: "profile", title: "Profile", content: () => <Profile {...part} may={manages} /> },
    { key: "alarms", title: "Alarms and NEWS", content: () => <Watching {...part} may={!wall_display} /> },
    { key: "bracelet", title: "Bracelet", content: () => <BraceletPart {...part} may={!wall_display} /> },
  ];
  if (manages)
    tabs.push({ key: "erase", title: "Erase", content: () => <ErasePart {...part} may onErased={setErased} /> });

  return (
    <>
      <PageHead
        title={patientName(patient)}
        note={
          <span class="row">
            {patient.state === "confirmed" ? (
              <Badge tone="good">Confirmed</Badge>
            ) : (
              <Badge tone="warn">Voucher {manages ? patient.code : ""} open</Badge>
            )}
            <code>{patient.uuid}</code>
            <CopyButton text={patient.uuid} what="patient id" kind="quiet" />
          </span>
        }
        tools={
          <>
            <ButtonLink href={pages.patient(code, uuid)} icon="pulse">
              Measurements
            </ButtonLink>
            {manages && <ButtonLink href={`${pages.exports(code)}?patient=${uuid}`}>Export</ButtonLink>}
            {!wall_display && <ButtonLink href={`${pages.audit()}?patient=${uuid}`}>Who did what</ButtonLink>}
          </>
        }
      />
      <Tabs
        label="Record"
        tabs={tabs}
        chosen={query.get("part") ?? "profile"}
        onChoose={(key) => stepQuery({ part: key === "profile" ? null : key })}
      />
    </>
  );
}

function Profile(props: PartProps) {
  return (
    <div class="stack">
      <ProfilePanel {...props} />
      <div class="columns">
        <FilingPanel {...props} />
        <StudiesPanel {...props} />
        {props.may && props.patient.state === "confirmed" && <PasswordPanel {...props} />}
      </div>
    </div>
  );
}

function Watching(props: PartProps) {
  return (
    <div class="columns">
      <AlarmsPart {...props} />
      <NewsPart {...props} />
    </div>
  );
}
