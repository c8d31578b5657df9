// Exports of a study: raw data of a patient, or of all of them, as archives; and the records of atrial fibrillation as
// a list.

import * as paths from "../../api/paths";
import { useOwnSession } from "../../api/session";
import type { Patient } from "../../api/types";
import { useResource } from "../../api/use_resource";
import { ButtonLink } from "../../design/button";
import { EmptyState } from "../../design/empty_state";
import { PageHead, Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import type { PageProps } from "../../page_props";
import * as pages from "../paths";
import { mayManage } from "../rights";
import { AfPanel } from "./af_panel";
import { JobList } from "./job_list";
import { NewExport } from "./new_export";
import { useExports } from "./use_exports";

export default function ExportsPage({ params: { code } }: PageProps) {
  const { account } = useOwnSession();
  const may = mayManage(account.role);
  const { data: all, error, reload } = useResource<Patient[]>(may ? paths.patients(code) : null);
  const exports = useExports(code);
  const patients = all?.filter((patient) => patient.state === "confirmed");
  if (!may)
    return (
      <>
        <PageHead title="Exports" />
        <EmptyState icon="lock" title="Exports are for researchers">
          Ask a researcher of this study for an export.
        </EmptyState>
      </>
    );
  return (
    <>
      <PageHead
        title="Exports"
        note="Raw data as archives, one for each patient. Every export is written into the audit log."
      />
      {error && <Problem error={error} onRetry={reload} />}
      {!patients && !error && <Skeleton lines={5} />}
      {patients?.length === 0 && (
        <section class="panel">
          <EmptyState
            icon="download"
            title="There is nobody to export yet"
            action={<ButtonLink href={pages.vouchers(code)}>Vouchers</ButtonLink>}
          >
            No patient of this study has used a voucher.
          </EmptyState>
        </section>
      )}
      {patients && patients.length > 0 && (
        <div class="stack">
          <NewExport patients={patients} onWanted={exports.want} />
          {exports.jobs.length > 0 && (
            <Panel
              title="Your exports"
              note="From whatever browser or program you have asked. An archive is kept for a while; each download makes a new link."
            >
              <JobList exports={exports} patients={patients} file={`exports-${code}`} />
            </Panel>
          )}
          <AfPanel patients={patients} />
        </div>
      )}
    </>
  );
}
