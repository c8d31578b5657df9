// Everything about one's own account.

import { useOwnSession } from "../../api/session";
import { PageHead } from "../../design/page_head";
import { type Tab, Tabs } from "../../design/tabs";
import { stepQuery, useAddress } from "../../router";
import { mayRunService } from "../rights";
import { AccountPart } from "./account";
import { ClientsPart } from "./clients";
import { KeysPart } from "./keys";
import { SecurityPart } from "./security";

const TABS: Tab[] = [
  { key: "account", title: "Account", content: () => <AccountPart /> },
  { key: "keys", title: "API keys", content: () => <KeysPart /> },
  { key: "security", title: "Sign-in and sessions", content: () => <SecurityPart /> },
];

const CLIENTS: Tab = { key: "clients", title: "OAuth clients", content: () => <ClientsPart /> };

export default function SettingsPage() {
  const { account } = useOwnSession();
  const { query } = useAddress();
  const tabs = mayRunService(account.role) ? [...TABS, CLIENTS] : TABS;
  return (
    <>
      <PageHead title="Settings" />
      <Tabs
        label="Settings"
        tabs={tabs}
        chosen={query.get("part") ?? "account"}
        onChoose={(part) => stepQuery({ part: part === "account" ? null : part })}
      />
    </>
  );
}
