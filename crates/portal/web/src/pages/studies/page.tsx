// The studies of the person who is signed in: the portal's first page. With one study it is a short list, without any it says
// how to begin.

import { useEffect, useState } from "preact/hooks";
import * as paths from "../../api/paths";
import { useOwnSession } from "../../api/session";
import type { Group } from "../../api/types";
import { Button, ButtonLink } from "../../design/button";
import { EmptyState } from "../../design/empty_state";
import { PageHead } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Column, Table } from "../../design/table";
import { At } from "../../design/time";
import { day } from "../../format";
import { isFirstPage, navigate } from "../../router";
import { useStudies } from "../../studies";
import * as pages from "../paths";
import { mayManage } from "../rights";
import { NewStudy } from "./new_study";

const COLUMNS: Column<Group>[] = [
  {
    key: "name",
    title: "Study",
    value: (group) => group.name,
    cell: (group) => (
      <a href={pages.board(group.code)} class="strong">
        {group.name}
      </a>
    ),
  },
  { key: "description", title: "Description", value: (group) => group.description },
  { key: "code", title: "Code", value: (group) => group.code, cell: (group) => <code>{group.code}</code> },
  { key: "hcpCode", title: "HCP code", value: (group) => group.hcpCode, cell: (group) => <code>{group.hcpCode}</code> },
  {
    key: "timestamp",
    title: "Since",
    value: (group) => group.timestamp,
    cell: (group) => <At time={group.timestamp} dayOnly />,
  },
  { key: "created", title: "Created", value: (group) => day(group.timestamp), csvOnly: true },
  {
    key: "go",
    title: "Pages",
    controls: true,
    value: () => null,
    cell: (group) => (
      <>
        <ButtonLink small kind="quiet" href={pages.board(group.code)} aria-label={`Ward board of ${group.name}`}>
          Board
        </ButtonLink>
        <ButtonLink small kind="quiet" href={pages.patients(group.code)} aria-label={`Patients of ${group.name}`}>
          Patients
        </ButtonLink>
      </>
    ),
  },
];

export default function StudiesPage() {
  const { groups, error, reload } = useStudies();
  const { account, wall_display } = useOwnSession();
  const [making, setMaking] = useState(false);
  const may = mayManage(account.role) && !wall_display;
  const newButton = may && (
    <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
      New study
    </Button>
  );

  // People with one study want to see its patients when they open the portal; "Studies" in the header still leads here.
  const only = groups?.length === 1 && isFirstPage() ? groups[0] : null;
  useEffect(() => {
    if (only) navigate(pages.board(only.code), { replace: true });
  }, [only]);
  if (only) return <Skeleton lines={6} />;

  return (
    <>
      <PageHead
        title="Studies"
        note="A study holds patients, the people who may see them, and the rules for their data."
        tools={groups?.length ? newButton : null}
      />
      {error && !groups && <Problem error={error} onRetry={reload} />}
      {!groups && !error && <Skeleton lines={4} />}
      {groups?.length === 0 && (
        <section class="panel">
          <EmptyState icon="pulse" title="There is no study yet" action={newButton}>
            {may
              ? "Make one, then create vouchers for its patients. Each of them uses a voucher in the app, and appears on the ward board as soon as the bracelet has synced."
              : "You are not a member of any study. Ask a researcher to add you by your e-mail address."}
          </EmptyState>
        </section>
      )}
      {groups && groups.length > 0 && (
        <section class="panel">
          <Table
            noun="study"
            nouns="studies"
            rows={groups}
            columns={COLUMNS}
            rowKey={(group) => group.code}
            file="studies"
            curl={paths.groups()}
            order={{ key: "name", direction: "up" }}
            filter={groups.length > 5}
          />
        </section>
      )}
      {making && <NewStudy onClose={() => setMaking(false)} onMade={(group) => navigate(pages.vouchers(group.code))} />}
    </>
  );
}
