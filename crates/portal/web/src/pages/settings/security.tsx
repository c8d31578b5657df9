// How one signs in: password, second factor, and the sessions that are open.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import { signOut } from "../../api/session";
import type { PortalSession } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { Badge } from "../../design/badge";
import { Button } from "../../design/button";
import { Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Column, Table } from "../../design/table";
import { Ago, At } from "../../design/time";
import { toast } from "../../design/toast";
import { browserName } from "./browser_name";
import { PasswordForm } from "./password_form";
import { TotpPanel } from "./totp";

export function SecurityPart() {
  return (
    <div class="stack">
      <div class="columns">
        <Panel title="Password" note="Changing it ends your other sessions.">
          <PasswordForm onDone={() => toast("Password changed")} />
        </Panel>
        <TotpPanel />
      </div>
      <Sessions />
    </div>
  );
}

function Sessions() {
  const { data: sessions, error, reload } = useResource<PortalSession[]>(paths.sessions());
  const [ending, setEnding] = useState<string | null>(null);
  const end = useAction(async (session: PortalSession) => {
    setEnding(session.id);
    // Ended like another, it would leave this page and the other tabs without a word why.
    if (session.current) return signOut();
    await call("DELETE", paths.sessionById(session.id));
    toast("Session ended");
    reload();
  });
  const columns: Column<PortalSession>[] = [
    {
      key: "browser",
      title: "Browser",
      value: (session) => browserName(session.user_agent),
      cell: (session) => (
        <>
          {browserName(session.user_agent)} {session.current && <Badge tone="good">This one</Badge>}{" "}
          {session.wall_display && <Badge>Wall display</Badge>}
        </>
      ),
    },
    {
      key: "address",
      title: "Address",
      value: (session) => session.address,
      cell: (session) => <code>{session.address}</code>,
    },
    {
      key: "last_seen_at",
      title: "Last used",
      value: (session) => session.last_seen_at,
      cell: (session) => <Ago time={session.last_seen_at} />,
    },
    {
      key: "created_at",
      title: "Signed in",
      value: (session) => session.created_at,
      cell: (session) => <At time={session.created_at} />,
    },
    {
      key: "end",
      title: "End",
      controls: true,
      value: () => null,
      cell: (session) => (
        <Button small kind="quiet" busy={end.busy && ending === session.id} onClick={() => void end.run(session)}>
          {session.current ? "Sign out" : "End session"}
        </Button>
      ),
    },
  ];
  return (
    <Panel title="Sessions" note="Where you are signed in to the portal.">
      {error && <Problem error={error} onRetry={reload} />}
      {!sessions && !error && <Skeleton lines={2} />}
      {sessions && (
        <Table
          noun="session"
          rows={sessions}
          columns={columns}
          rowKey={(session) => session.id}
          file="sessions"
          order={{ key: "last_seen_at", direction: "down" }}
          filter={false}
        />
      )}
      {end.failed && <p class="bad-text">{end.failed}</p>}
    </Panel>
  );
}
