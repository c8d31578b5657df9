// API keys: what is there, what it may reach, when it was last used, and an end to it.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { ApiKey, Group } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { Badge } from "../../design/badge";
import { Button } from "../../design/button";
import { Confirm } from "../../design/dialog";
import { EmptyState } from "../../design/empty_state";
import { Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Column, Table } from "../../design/table";
import { Ago, At } from "../../design/time";
import { toast } from "../../design/toast";
import { type KeyReach, reachOf, reachText } from "./key_reach";
import { type KeyState, keyState } from "./key_state";
import { NewKey } from "./new_key";

const STATES: Record<KeyState, { tone: "good" | "plain" | "warn"; text: string }> = {
  active: { tone: "good", text: "Active" },
  ending: { tone: "warn", text: "Ends soon" },
  expired: { tone: "plain", text: "Expired" },
  revoked: { tone: "plain", text: "Revoked" },
};

export function KeysPart() {
  const { data: keys, error, reload } = useResource<ApiKey[]>(paths.keys());
  // Read along with the keys and not shared: what a key opens follows from the studies as they are now.
  const { data: mine } = useResource<Group[]>(paths.groups());
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<ApiKey | null>(null);
  const newButton = (
    <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
      New API key
    </Button>
  );
  return (
    <Panel
      title="API keys"
      note="For scripts and notebooks. A key can do what you can, in the studies that you choose."
      tools={keys?.length ? newButton : null}
    >
      {error && <Problem error={error} onRetry={reload} />}
      {!keys && !error && <Skeleton />}
      {keys?.length === 0 && (
        <EmptyState icon="lock" title="There is no API key yet" action={newButton}>
          With a key a script can read what you see here. Every page has a “curl” button that copies the command.
        </EmptyState>
      )}
      {keys && keys.length > 0 && (
        <Table
          noun="key"
          rows={keys}
          columns={columns(mine, setEnding)}
          rowKey={(key) => key.id}
          file="api-keys"
          order={{ key: "created_at", direction: "down" }}
          filter={keys.length > 8}
        />
      )}
      {making && <NewKey onClose={() => setMaking(false)} onMade={reload} />}
      {ending && <Revoke apiKey={ending} onClose={() => setEnding(null)} onDone={reload} />}
    </Panel>
  );
}

const nameOf = (key: ApiKey) => key.name ?? "without a name";

function Reach({ reach }: { reach: KeyReach }) {
  if (reach.kind !== "some" || reach.gone.length > 0) return <>{reachText(reach)}</>;
  return <code>{reachText(reach)}</code>;
}

function columns(mine: Group[] | null, onRevoke: (key: ApiKey) => void): Column<ApiKey>[] {
  return [
    { key: "name", title: "Name", value: nameOf, cell: (key) => <span class="strong">{nameOf(key)}</span> },
    { key: "prefix", title: "Begins with", value: (key) => key.prefix, cell: (key) => <code>{key.prefix}…</code> },
    {
      key: "groups",
      title: "Studies",
      value: (key) => reachText(reachOf(key, mine)),
      cell: (key) => <Reach reach={reachOf(key, mine)} />,
    },
    {
      key: "state",
      title: "State",
      value: (key) => STATES[keyState(key)].text,
      cell: (key) => <Badge tone={STATES[keyState(key)].tone}>{STATES[keyState(key)].text}</Badge>,
    },
    {
      key: "expires_at",
      title: "Ends",
      value: (key) => key.expires_at,
      cell: (key) => <At time={key.expires_at} dayOnly none="never" />,
    },
    {
      key: "last_used_at",
      title: "Last used",
      value: (key) => key.last_used_at,
      cell: (key) => <Ago time={key.last_used_at} none="never" />,
    },
    {
      key: "created_at",
      title: "Made",
      value: (key) => key.created_at,
      cell: (key) => <At time={key.created_at} dayOnly />,
    },
    {
      key: "end",
      title: "Revoke",
      controls: true,
      value: () => null,
      cell: (key) =>
        !key.revoked_at && (
          <Button small kind="quiet" onClick={() => onRevoke(key)} label={`Revoke ${nameOf(key)}`}>
            Revoke
          </Button>
        ),
    },
  ];
}

function Revoke({ apiKey, onClose, onDone }: { apiKey: ApiKey; onClose: () => void; onDone: () => void }) {
  const revoke = useAction(async () => {
    await call("DELETE", paths.key(apiKey.id));
    toast(`API key “${nameOf(apiKey)}” revoked`);
    onDone();
    onClose();
  });
  return (
    <Confirm
      title="Revoke this API key?"
      yes="Revoke"
      danger
      busy={revoke.busy}
      failed={revoke.failed}
      onYes={() => void revoke.run()}
      onClose={onClose}
    >
      <p>
        Whatever uses <strong>{nameOf(apiKey)}</strong> (<code>{apiKey.prefix}…</code>) stops working at once. This
        cannot be taken back.
      </p>
    </Confirm>
  );
}
