// The people of a study: who may see its patients.

import { useState } from "preact/hooks";
import { ApiError, call } from "../../api/client";
import * as paths from "../../api/paths";
import { useOwnSession } from "../../api/session";
import type { Hcp } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { Badge } from "../../design/badge";
import { Button } from "../../design/button";
import { Confirm } from "../../design/dialog";
import { TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { type Column, Table } from "../../design/table";
import { toast } from "../../design/toast";
import { navigate } from "../../router";
import { reloadStudies } from "../../studies";

const ROLES = { researcher: "Researcher", hcp: "Practitioner", admin: "Administrator" };

export function Members({ code, may }: { code: string; may: boolean }) {
  const { account } = useOwnSession();
  const { data: members, error, reload } = useResource<Hcp[]>(paths.hcps(code));
  const [leaving, setLeaving] = useState<Hcp | null>(null);
  const columns: Column<Hcp>[] = [
    {
      key: "email",
      title: "E-mail",
      value: (member) => member.email,
      cell: (member) => (
        <span class="break">
          {member.email} {member.uuid === account.uuid && <Badge>You</Badge>}
        </span>
      ),
    },
    { key: "role", title: "Role", value: (member) => ROLES[member.role] ?? member.role },
    { key: "uuid", title: "Account id", value: (member) => member.uuid, csvOnly: true },
    {
      key: "leave",
      title: "Remove",
      controls: true,
      value: () => null,
      cell: (member) =>
        may && (
          <Button small kind="quiet" onClick={() => setLeaving(member)} label={`Remove ${member.email}`}>
            Remove
          </Button>
        ),
    },
  ];
  return (
    <Panel title="People" note="Researchers manage the study; practitioners read it, set alarms and handle bracelets.">
      {error && <Problem error={error} onRetry={reload} />}
      {!members && !error && <Skeleton />}
      {members && (
        <Table
          noun="person"
          nouns="people"
          rows={members}
          columns={columns}
          rowKey={(member) => member.uuid}
          file={`people-${code}`}
          curl={paths.hcps(code)}
          filter={members.length > 8}
        />
      )}
      {may && <AddMember code={code} onAdded={reload} />}
      {leaving && (
        <RemoveMember
          code={code}
          member={leaving}
          self={leaving.uuid === account.uuid}
          onClose={() => setLeaving(null)}
          onDone={reload}
        />
      )}
    </Panel>
  );
}

function AddMember({ code, onAdded }: { code: string; onAdded: () => void }) {
  const [email, setEmail] = useState("");
  const add = useAction(async () => {
    try {
      await call("POST", paths.hcps(code), { email: email.trim() });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404)
        throw new Error("Nobody has an account with this e-mail address. Your administrator can make one.");
      throw error;
    }
    toast(`${email.trim()} added`);
    setEmail("");
    onAdded();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form class="stack close" onSubmit={submit}>
      <div class="row end">
        <TextField
          label="Add somebody by e-mail"
          type="email"
          required
          placeholder="name@hospital.example"
          value={email}
          onValue={setEmail}
        />
        <Button type="submit" icon="plus" busy={add.busy}>
          Add
        </Button>
      </div>
      {add.failed && (
        <p class="bad-text" role="alert">
          {add.fields.email ?? add.failed}
        </p>
      )}
    </form>
  );
}

interface RemoveProps {
  code: string;
  member: Hcp;
  self: boolean;
  onClose: () => void;
  onDone: () => void;
}

function RemoveMember({ code, member, self, onClose, onDone }: RemoveProps) {
  const remove = useAction(async () => {
    await call("DELETE", paths.hcp(code, member.uuid));
    toast(`${member.email} removed`);
    onClose();
    if (!self) return onDone();
    // This page asks for a study that one may no longer see: it is left before it could.
    await reloadStudies();
    navigate("/");
  });
  return (
    <Confirm
      title={self ? "Leave this study?" : "Remove this person?"}
      yes={self ? "Leave" : "Remove"}
      danger
      busy={remove.busy}
      failed={remove.failed}
      onYes={() => void remove.run()}
      onClose={onClose}
    >
      <p>
        <strong>{member.email}</strong> will no longer see the patients of this study.{" "}
        {self ? "Somebody else has to add you again." : "They can be added again."}
      </p>
    </Confirm>
  );
}
