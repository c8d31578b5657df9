// OAuth clients: the applications that may ask people for access to their data. For administrators.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { OAuthClient } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { CopyButton } from "../../design/copy_button";
import { Confirm, Dialog } from "../../design/dialog";
import { EmptyState } from "../../design/empty_state";
import { CheckField, TextArea, TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Column, Table } from "../../design/table";
import { toast } from "../../design/toast";

export function ClientsPart() {
  const { data, error, reload } = useResource<OAuthClient[]>(paths.clients());
  const clients = data?.filter((client) => !client.removed_at);
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<OAuthClient | null>(null);
  const newButton = (
    <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
      New client
    </Button>
  );
  const columns: Column<OAuthClient>[] = [
    {
      key: "name",
      title: "Application",
      value: (client) => client.name,
      cell: (client) => <span class="strong">{client.name}</span>,
    },
    {
      key: "client_id",
      title: "Client id",
      value: (client) => client.client_id,
      cell: (client) => <code>{client.client_id}</code>,
    },
    { key: "public", title: "Kind", value: (client) => (client.public ? "public" : "with a secret") },
    {
      key: "redirect_uris",
      title: "Leads back to",
      value: (client) => client.redirect_uris.join(" "),
      cell: (client) => <span class="break">{client.redirect_uris.join(" ")}</span>,
    },
    {
      key: "privacy_policy_url",
      title: "Privacy policy",
      value: (client) => client.privacy_policy_url,
      cell: (client) => <span class="break">{client.privacy_policy_url}</span>,
    },
    {
      key: "end",
      title: "Remove",
      controls: true,
      value: () => null,
      cell: (client) => (
        <Button small kind="quiet" onClick={() => setEnding(client)} label={`Remove ${client.name}`}>
          Remove
        </Button>
      ),
    },
  ];
  return (
    <Panel
      title="OAuth clients"
      note="Applications that people can grant access to their own data."
      tools={clients?.length ? newButton : null}
    >
      {error && <Problem error={error} onRetry={reload} />}
      {!clients && !error && <Skeleton />}
      {clients?.length === 0 && (
        <EmptyState icon="lock" title="There is no application yet" action={newButton}>
          An application needs a client id before it can ask people for access.
        </EmptyState>
      )}
      {clients && clients.length > 0 && (
        <Table
          noun="client"
          rows={clients}
          columns={columns}
          rowKey={(client) => client.client_id}
          file="oauth-clients"
          order={{ key: "name", direction: "up" }}
          filter={clients.length > 8}
        />
      )}
      {making && <NewClient onClose={() => setMaking(false)} onMade={reload} />}
      {ending && <RemoveClient client={ending} onClose={() => setEnding(null)} onDone={reload} />}
    </Panel>
  );
}

function NewClient({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const [name, setName] = useState("");
  const [uris, setUris] = useState("");
  const [policy, setPolicy] = useState("");
  const [isPublic, setPublic] = useState(false);
  const [made, setMade] = useState<OAuthClient | null>(null);
  const make = useAction(async () => {
    // Addresses have no blanks: pasted in one line or in several, they are the same.
    const redirect_uris = uris.split(/\s+/).filter(Boolean);
    setMade(
      await call<OAuthClient>("POST", paths.clients(), {
        name: name.trim(),
        redirect_uris,
        privacy_policy_url: policy.trim(),
        public: isPublic,
      }),
    );
    onMade();
  });
  if (made) return <ClientShownOnce client={made} onClose={onClose} />;
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" type="submit" busy={make.busy}>
        Make client
      </Button>
    </>
  );
  return (
    <Dialog title="New OAuth client" onClose={onClose} onSubmit={() => void make.run()} foot={foot}>
      <TextField
        label="Name of the application"
        required
        autofocus
        hint="People see it when they are asked for consent."
        value={name}
        onValue={setName}
        error={make.fields.name}
      />
      <TextArea
        label="Redirect addresses"
        rows={3}
        hint="One a line, exactly as the application sends them."
        value={uris}
        onValue={setUris}
        error={make.fields.redirect_uris}
      />
      <TextField
        label="Privacy policy"
        type="url"
        required
        placeholder="https://"
        value={policy}
        onValue={setPolicy}
        error={make.fields.privacy_policy_url}
      />
      <CheckField
        label="Public client"
        hint="An app on a phone or in a browser, which cannot keep a secret."
        checked={isPublic}
        onChecked={setPublic}
      />
      {make.failed && (
        <Notice tone="bad" alert>
          {make.failed}
        </Notice>
      )}
    </Dialog>
  );
}

function ClientShownOnce({ client, onClose }: { client: OAuthClient; onClose: () => void }) {
  return (
    <Dialog
      title={`Client “${client.name}”`}
      // A public client has nothing that is shown only once.
      mustAnswer={Boolean(client.client_secret)}
      onClose={onClose}
      foot={
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      {client.client_secret && <Notice tone="warn">Copy the secret now. It is not shown again.</Notice>}
      <p class="strong">Client id</p>
      <div class="secret">
        <code>{client.client_id}</code>
        <CopyButton text={client.client_id} what="client id">
          Copy
        </CopyButton>
      </div>
      {client.client_secret && (
        <>
          <p class="strong">Client secret</p>
          <div class="secret">
            <code>{client.client_secret}</code>
            <CopyButton text={client.client_secret} what="client secret">
              Copy
            </CopyButton>
          </div>
        </>
      )}
    </Dialog>
  );
}

function RemoveClient({ client, onClose, onDone }: { client: OAuthClient; onClose: () => void; onDone: () => void }) {
  const remove = useAction(async () => {
    await call("DELETE", paths.client(client.client_id));
    toast(`“${client.name}” removed`);
    onDone();
    onClose();
  });
  return (
    <Confirm
      title="Remove this application?"
      yes="Remove"
      danger
      busy={remove.busy}
      failed={remove.failed}
      onYes={() => void remove.run()}
      onClose={onClose}
    >
      <p>
        <strong>{client.name}</strong> loses access to everybody’s data at once.
      </p>
    </Confirm>
  );
}
