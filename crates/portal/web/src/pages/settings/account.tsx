// Who one is, whether the subscription runs, and how the portal looks.

import * as paths from "../../api/paths";
import type { Account } from "../../api/types";
import { useResource } from "../../api/use_resource";
import { Badge } from "../../design/badge";
import { Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { ThemeSwitch } from "../../design/theme_switch";
import { day } from "../../format";

const ROLES = {
  researcher: "Researcher: runs studies",
  hcp: "Practitioner: reads studies, sets alarms, handles bracelets",
  admin: "Administrator: runs the service",
};

export function AccountPart() {
  const { data: account, error, reload } = useResource<Account>(paths.account());
  return (
    <div class="columns">
      <Panel title="Account">
        {error && <Problem error={error} onRetry={reload} />}
        {!account && !error && <Skeleton />}
        {account && <Facts account={account} />}
      </Panel>
      <Panel title="Colours" note="Kept in this browser.">
        <ThemeSwitch />
      </Panel>
    </div>
  );
}

function Facts({ account }: { account: Account }) {
  const name = [account.first_name, account.last_name].filter(Boolean).join(" ");
  return (
    <dl class="facts">
      {name && (
        <>
          <dt>Name</dt>
          <dd>{name}</dd>
        </>
      )}
      <dt>E-mail</dt>
      <dd>{account.email}</dd>
      <dt>Role</dt>
      <dd>{ROLES[account.role] ?? account.role}</dd>
      <dt>Subscription</dt>
      <dd>
        {account.has_subscription ? <Badge tone="good">Active</Badge> : <Badge tone="warn">Not active</Badge>}{" "}
        {account.subscription_until && <span class="soft">until {day(account.subscription_until)}</span>}
        {!account.has_subscription && (
          <p class="small soft">Without one the audit log cannot be read. Your administrator sets it.</p>
        )}
      </dd>
      <dt>Account id</dt>
      <dd>
        <code>{account.uuid}</code>
      </dd>
    </dl>
  );
}
