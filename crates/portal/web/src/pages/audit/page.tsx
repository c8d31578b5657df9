// The audit log: who did what, when, to which person. Narrowed by range and action at the server, and by patient here, as the
// specification has it: an entry is about a patient when they are its primary or secondary entity.

import { useMemo } from "preact/hooks";
import { ApiError } from "../../api/client";
import * as paths from "../../api/paths";
import type { AuditEntry } from "../../api/types";
import { useResource } from "../../api/use_resource";
import { civilDate } from "../../charts/zone";
import { isoTime } from "../../csv";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { EmptyState } from "../../design/empty_state";
import { PageHead } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Column, Table } from "../../design/table";
import { At } from "../../design/time";
import { isoDay, shiftDay } from "../../format";
import { type Names, useNames } from "../../names";
import { setQuery, useAddress } from "../../router";
import { actionWords } from "./actions";
import { detailsText } from "./details";
import { AuditFilter } from "./filter";
import { isAbout } from "./is_about";

export default function AuditPage() {
  const { query } = useAddress();
  const today = isoDay(new Date());
  const from = civilDate(query.get("from")) ?? shiftDay(today, -6);
  const to = civilDate(query.get("to")) ?? today;
  const action = query.get("action") ?? "";
  const patient = query.get("patient") ?? "";
  const backwards = to < from;
  const path = backwards ? null : paths.auditLog(Date.parse(`${from}T00:00`), Date.parse(`${to}T23:59:59.999`), action);
  const { data: entries, error, reload } = useResource<AuditEntry[]>(path);
  const names = useNames();
  const rows = useMemo(
    () => (entries && patient ? entries.filter((entry) => isAbout(entry, patient)) : entries),
    [entries, patient],
  );
  const columns = useMemo(() => columnsOf(names), [names]);

  return (
    <>
      <PageHead
        title={patient ? `Audit log of ${names.of(patient)}` : "Audit log"}
        note="What you did and what was done to you and yours. Entries cannot be changed; the operator can verify the chain."
        tools={
          patient && (
            <Button icon="close" onClick={() => setQuery({ patient: null })}>
              All entries
            </Button>
          )
        }
      />
      <section class="panel stack">
        <AuditFilter from={from} to={to} action={action} />
        {backwards && <Notice tone="warn">The last day is before the first.</Notice>}
        {error && <Refused error={error} onRetry={reload} />}
        {!rows && !error && !backwards && <Skeleton lines={8} />}
        {rows?.length === 0 && (
          <EmptyState
            icon="search"
            title="No entry in this range"
            action={
              <Button onClick={() => setQuery({ from: shiftDay(today, -89), to: null, action: null })}>
                Last 90 days
              </Button>
            }
          >
            Try a longer range or all actions.
          </EmptyState>
        )}
        {rows && rows.length > 0 && path && (
          <Table
            noun="entry"
            nouns="entries"
            rows={rows}
            columns={columns}
            rowKey={(entry) => entry.id}
            file={`audit-log-${from}-${to}`}
            curl={path}
            order={{ key: "timestamp", direction: "down" }}
          />
        )}
      </section>
    </>
  );
}

function Refused({ error, onRetry }: { error: Error; onRetry: () => void }) {
  if (error instanceof ApiError && error.status === 403) {
    return (
      <EmptyState icon="lock" title="The audit log needs an active subscription">
        Yours has ended or was never begun. Your administrator sets it.
      </EmptyState>
    );
  }
  return <Problem error={error} onRetry={onRetry} />;
}

function columnsOf(names: Names): Column<AuditEntry>[] {
  return [
    {
      key: "timestamp",
      title: "When",
      value: (entry) => isoTime(entry.timestamp),
      cell: (entry) => <At time={entry.timestamp} seconds />,
    },
    {
      key: "action",
      title: "What",
      value: (entry) => actionWords(entry.action_type),
      cell: (entry) => (
        <span title={entry.action_type} class="strong nowrap">
          {actionWords(entry.action_type)}
        </span>
      ),
    },
    { key: "action_type", title: "Action code", value: (entry) => entry.action_type, csvOnly: true },
    {
      key: "user",
      title: "Who",
      value: (entry) => names.of(entry.user_id),
      cell: (entry) => <Entity id={entry.user_id} names={names} />,
    },
    { key: "user_id", title: "User id", value: (entry) => entry.user_id, csvOnly: true },
    { key: "user_role", title: "Role", value: (entry) => entry.user_role, csvOnly: true },
    {
      key: "primary",
      title: "About",
      value: (entry) => names.of(entry.primary_entity_id),
      cell: (entry) => <Entity id={entry.primary_entity_id} kind={entry.primary_entity_type} names={names} />,
    },
    { key: "primary_entity_id", title: "Primary entity", value: (entry) => entry.primary_entity_id, csvOnly: true },
    {
      key: "secondary",
      title: "With",
      value: (entry) => entry.secondary_entity_id && names.of(entry.secondary_entity_id),
      cell: (entry) =>
        // Entries of what one does to oneself name the same person again.
        entry.secondary_entity_id &&
        entry.secondary_entity_id !== entry.user_id && (
          <Entity id={entry.secondary_entity_id} kind={entry.secondary_entity_type} names={names} />
        ),
    },
    {
      key: "secondary_entity_id",
      title: "Secondary entity",
      value: (entry) => entry.secondary_entity_id,
      csvOnly: true,
    },
    {
      key: "details",
      title: "Details",
      value: (entry) => detailsText(entry.details),
      cell: (entry) => <span class="small soft break">{detailsText(entry.details)}</span>,
    },
  ];
}

/** A patient's name leads to their entries. */
function Entity({ id, kind, names }: { id: string; kind?: string | null; names: Names }) {
  const text = names.isKnown(id) ? names.of(id) : <code class="faint">{names.of(id)}</code>;
  return kind === "patient.id" ? (
    <a class="plain-link" href={`/audit?patient=${encodeURIComponent(id)}`} title={`${kind} ${id}`}>
      {text}
    </a>
  ) : (
    <span title={kind ? `${kind} ${id}` : id}>{text}</span>
  );
}
