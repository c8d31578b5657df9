// Pages that are lists: studies, patients, bracelets, the audit log, exports and the rules of a study.

import "../testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { navigate } from "../router";
import { enter, group, patient } from "../testkit/people";
import { Screen, settle, textOf } from "../testkit/screen";
import { refusal, Server } from "../testkit/server";
import AuditPage from "./audit/page";
import BraceletsPage from "./bracelets/page";
import ExportsPage from "./exports/page";
import PatientsPage from "./patients/page";
import StudiesPage from "./studies/page";
import { Members } from "./study_settings/members";
import { RulesPanel } from "./study_settings/rules_panel";

const NOW = Date.parse("2026-11-22T12:00:00Z");
let server: Server;
let screen: Screen;
let turn = 0;

before(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: NOW }));
after(() => mock.timers.reset());
beforeEach(async () => {
  server = new Server();
  server.on("GET", "/integration/v1/groups", () => [group("ABC"), group("DEF")]);
  server
    .on("GET", /bracelets$/, () => [])
    .on("GET", /hcps$/, () => [])
    .on("GET", /patients/, () => []);
  await enter(server, `person ${(turn += 1)}`);
  screen = new Screen(null);
});
afterEach(() => screen.leave());

const show = async (page: preact.ComponentChild, address = "/x") => {
  await act(() => navigate(address, { replace: true }));
  screen.draw(page);
  await settle();
};
const params = { code: "ABC" };
const lines = () => screen.all("tbody tr").map((row) => textOf(row.querySelector("td")!));
const sent = (method: string) => server.asked.filter((one) => one.method === method && one.path !== "/portal/session");

test("studies are listed by name, and each leads to its board", async () => {
  server.on("GET", "/integration/v1/groups", () => [group("Z", { name: "Study 10" }), group("Y", { name: "Study 9" })]);
  await show(<StudiesPage />);
  assert.deepEqual(lines(), ["Study 9", "Study 10"]);
  assert.equal(screen.all("tbody a")[0]!.getAttribute("href"), "/studies/Y");
});

test("without a study a researcher reads how to begin, a practitioner who can help", async () => {
  server.on("GET", "/integration/v1/groups", () => []);
  await show(<StudiesPage />);
  assert.match(screen.text, /There is no study yet/);
  assert.equal(screen.all("button").length, 1);
  screen.draw(null);
  await enter(server, `hcp ${turn}`, { role: "hcp" });
  await show(<StudiesPage />);
  assert.match(screen.text, /Ask a researcher to add you/);
  assert.equal(screen.all("button").length, 0);
});

test("a new study is listed and leads on to its vouchers", async () => {
  server.on("GET", "/integration/v1/groups", () => []);
  await show(<StudiesPage />);
  server.on("POST", "/integration/v1/groups", ({ body }) => group("NEW", body as object));
  await screen.press("New study");
  await screen.type("Name", " Sleep ");
  await screen.submit();
  assert.deepEqual(sent("POST")[0]!.body, { name: "Sleep", description: "" });
  assert.equal(location.pathname, "/studies/NEW/vouchers");
});

const VOUCHER = { uuid: "u2", code: "AAAA1111", state: "pre_created" };

test("a voucher that nobody has used is no patient, and its code is not shown", async () => {
  server.on("GET", /ABC\/patients$/, () => [patient("u1"), VOUCHER]);
  await show(<PatientsPage params={params} />);
  assert.deepEqual(lines(), ["Pat u1"]);
  assert.equal(screen.all("tbody a.strong")[0]!.getAttribute("href"), "/studies/ABC/patients/u1");
  assert.doesNotMatch(screen.root.innerHTML, /AAAA1111/);
  assert.match(screen.text, /1 open voucher/, "how many are still to begin");
});

test("a study of vouchers alone says that nobody has begun, and leads to them", async () => {
  server.on("GET", /ABC\/patients$/, () => [VOUCHER, { ...VOUCHER, uuid: "u3" }]);
  await show(<PatientsPage params={params} />);
  assert.match(screen.text, /Nobody has begun yet.*2 vouchers are open/);
  assert.equal(screen.button("Vouchers").getAttribute("href"), "/studies/ABC/vouchers");
  assert.equal(screen.all("tbody").length, 0);
});

test("a voucher of another study is nobody to add", async () => {
  server.on("GET", /ABC\/patients$/, () => [patient("u1")]);
  server.on("GET", /DEF\/patients$/, () => [VOUCHER, patient("u3")]);
  await show(<PatientsPage params={params} />);
  await screen.press("From another study");
  const choices = [...screen.field<HTMLSelectElement>("Patient").options].map((option) => textOf(option));
  assert.deepEqual(choices, ["Choose one of 1 patient", "Pat u3"]);
});

test("only patients that are not here yet can be added from another study", async () => {
  server.on("GET", /ABC\/patients$/, () => [patient("u1")]);
  server.on("GET", /DEF\/patients$/, () => [patient("u1"), patient("u2")]);
  server.on("PUT", /ABC\/patients\/u2$/, () => undefined);
  await show(<PatientsPage params={params} />);
  await screen.press("From another study");
  const choices = () => [...screen.field<HTMLSelectElement>("Patient").options].map((option) => textOf(option));
  assert.deepEqual(choices(), ["Choose one of 1 patient", "Pat u2"]);
  assert.equal(screen.button("Add to this study").disabled, true);
  await screen.choose("Patient", "u2");
  await screen.submit();
  assert.equal(sent("PUT")[0]!.path, "/integration/v1/groups/ABC/patients/u2");
});

test("a practitioner sees patients and adds none", async () => {
  await enter(server, `hcp ${turn}`, { role: "hcp" });
  await show(<PatientsPage params={params} />);
  assert.match(screen.text, /A researcher of the study makes vouchers/);
  assert.equal(screen.all("button").length, 0);
});

test("a bracelet names who wears it, and only a free one can be removed", async () => {
  const one = (id: string, patient_uuid: string | null) => ({
    id,
    serial_number: id,
    registered: true,
    device_type: "bracelet",
    created_at: "2026-11-01T00:00:00Z",
    patient_uuid,
  });
  server.on("GET", /bracelets$/, () => [one("SN-1", "u1"), one("SN/2", null), one("SN-3", "somebody-elsewhere")]);
  server.on("GET", /ABC\/patients/, () => [patient("u1", { first_name: "Ada", last_name: "B" })]);
  server.on("DELETE", /bracelets/, () => undefined);
  await show(<BraceletsPage />);
  assert.match(screen.text, /SN-1Ada B/);
  assert.match(screen.text, /SN-3somebody…/);
  assert.equal(screen.all("button").filter((one) => textOf(one) === "Remove").length, 1);
  await screen.press(screen.all("button").find((one) => textOf(one) === "Remove")!);
  await screen.submit();
  assert.equal(sent("DELETE")[0]!.path, "/integration/v1/bracelets/SN%2F2");
});

test("bracelets that only syncs have named are shown and can be registered", async () => {
  const seen = { seen_on: "u1", updated_at: new Date(NOW).toISOString(), battery_level: 83 };
  server.on("GET", /bracelets$/, () => [
    { ...seen, serial_number: "SN-8", registered: false },
    { ...seen, serial_number: "SN-9", registered: true },
  ]);
  server.on("GET", /ABC\/patients/, () => [patient("u1", { first_name: "Ada", last_name: "B" })]);
  server.on("POST", /bracelets$/, () => ({ id: "b8", serial_number: "SN-8", registered: true }));
  await show(<BraceletsPage />);
  assert.match(screen.text, /SN-8Not registeredAda B, now83 %/);
  assert.match(screen.text, /SN-9Registered elsewhereAda B/);
  const buttons = ["Register", "Edit", "Remove"].map((name) =>
    screen.all("button").filter((one) => textOf(one) === name),
  );
  assert.deepEqual(
    buttons.map((found) => found.length),
    [1, 0, 0],
    "what is registered elsewhere is somebody else's",
  );
  await screen.press(buttons[0]![0]!);
  await screen.submit();
  assert.equal((sent("POST")[0]!.body as { serial_number: string }).serial_number, "SN-8");
});

const entry = (id: string, more: object = {}) => ({
  ...{ id, timestamp: NOW, action_type: "PATIENT_CREATE", user_id: "h", user_role: "hcp" },
  ...{ primary_entity_id: "u1", primary_entity_type: "patient.id" },
  ...more,
});

test("the audit log is read for whole local days, also where a day has 25 hours", async () => {
  server.on("GET", /audit/, () => []);
  await show(<AuditPage />, "/audit?from=2026-10-25&to=2026-10-25");
  const query = new URLSearchParams(server.of(/audit/)[0]!.path.split("?")[1]);
  assert.deepEqual(
    [Number(query.get("from")), Number(query.get("to"))],
    [Date.parse("2026-10-24T22:00:00Z"), Date.parse("2026-10-25T23:00:00Z") - 1],
  );
});

test("a range that ends before it begins is refused and not asked for", async () => {
  await show(<AuditPage />, "/audit?from=2026-11-22&to=2026-11-21");
  assert.match(screen.text, /The last day is before the first/);
  assert.equal(server.of(/audit/).length, 0);
});

test("the log of one patient holds what they did and what was done to them", async () => {
  server.on("GET", /audit/, () => [
    entry("1"),
    entry("2", { primary_entity_id: "x", secondary_entity_id: "u1" }),
    entry("3", { primary_entity_id: "y" }),
  ]);
  await show(<AuditPage />, "/audit?patient=u1");
  assert.equal(lines().length, 2);
  await screen.press("All entries");
  assert.equal(lines().length, 3);
  assert.equal(location.search, "");
});

test("an action is asked of the server and is in the address", async () => {
  server.on("GET", /audit/, () => [entry("1", { action_type: "BRAND_NEW" })]);
  await show(<AuditPage />, "/audit");
  assert.match(screen.text, /BRAND_NEW/, "an action that is new to the page is its code");
  await screen.choose("Action", "USER_LOGIN");
  assert.match(server.of(/audit/).at(-1)!.path, /action_type=USER_LOGIN/);
  await screen.press("All actions");
  assert.doesNotMatch(server.of(/audit/).at(-1)!.path, /action_type/);
});

test("without a subscription the log says so", async () => {
  server.on("GET", /audit/, () => refusal(403, "subscription_required"));
  await show(<AuditPage />, "/audit");
  assert.match(screen.text, /needs an active subscription/);
});

test("an export is wanted of one patient or of all, with whole minutes", async () => {
  server.on("GET", /ABC\/patients$/, () => [patient("u1"), patient("u2"), { uuid: "u3", state: "pre_created" }]);
  server.on("POST", /create-export/, () => ({ id: "e", status: "done" }));
  await show(<ExportsPage params={params} />, "/studies/ABC/exports?patient=u2");
  const form = () => screen.all("form")[0]!;
  assert.equal(screen.all<HTMLSelectElement>("select")[0]!.value, "u2", "the one that the address names");
  await act(() => void form().dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  await act(() => mock.timers.tick(0));
  await settle();
  assert.deepEqual(sent("POST")[0]!.body, {
    types: ["activity", "rr-interval"],
    client_date_from: "2026-11-16T00:00:00.000",
    client_date_to: "2026-11-22T23:59:59.999",
    format: "csv",
  });
  assert.match(sent("POST")[0]!.path, /u2$/);
  assert.match(screen.text, /Pat u2.*Ready/);
});

test("a study in which nobody has begun has nothing to export", async () => {
  server.on("GET", /ABC\/patients$/, () => [{ uuid: "u3", state: "pre_created" }]);
  await show(<ExportsPage params={params} />);
  assert.match(screen.text, /There is nobody to export yet/);
});

const RULES = { activity_goal_steps: 8_000, max_heart_rate_rule: "fox", retention: { ecg: 90 } };

test("rules are saved at once, but shorter retention is asked about first", async () => {
  server.on("GET", /settings$/, () => RULES);
  server.on("PUT", /settings$/, ({ body }) => body);
  await show(<RulesPanel code="ABC" may />);
  await screen.type("Daily goal", "9000");
  await screen.submit();
  assert.deepEqual(sent("PUT")[0]!.body, { ...RULES, activity_goal_steps: 9_000 });
  await screen.type("ECG (waveform)", "30");
  await screen.type("Activity", "365");
  await screen.press(screen.one("form button[type=submit]"));
  await act(() => void screen.all("form")[0]!.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  await settle();
  assert.equal(sent("PUT").length, 1, "nothing is deleted before the answer");
  assert.deepEqual(screen.all("dialog li").map(textOf), ["Activity: 365 days", "ECG (waveform): 30 days"]);
  await act(() => void screen.one("dialog form").dispatchEvent(new Event("submit", { cancelable: true })));
  await settle();
  assert.deepEqual(sent("PUT")[1]!.body, {
    ...RULES,
    activity_goal_steps: 9_000,
    retention: { activity: 365, ecg: 30 },
  });
  assert.equal(screen.all("dialog").length, 0);
});

test("who leaves a study by themselves goes to the others", async () => {
  const me = `person ${turn}`;
  server.on("GET", /hcps$/, () => [
    { uuid: me, email: "me@b.example", role: "researcher" },
    { uuid: "h", email: "h@b.example", role: "hcp" },
  ]);
  server.on("DELETE", /hcps/, () => undefined);
  await show(<Members code="ABC" may />, "/studies/ABC/settings");
  assert.match(screen.text, /me@b\.example You/);
  await screen.press("Remove h@b.example");
  await act(() => void screen.one("dialog form").dispatchEvent(new Event("submit", { cancelable: true })));
  await settle();
  assert.equal(location.pathname, "/studies/ABC/settings");
  await screen.press("Remove me@b.example");
  assert.match(screen.text, /Leave this study\?/);
  await act(() => void screen.one("dialog form").dispatchEvent(new Event("submit", { cancelable: true })));
  await settle();
  assert.equal(location.pathname, "/");
});

test("somebody without an account cannot be added, and who that may be is said", async () => {
  server.on("POST", /hcps$/, () => refusal(404, "not_found"));
  await show(<Members code="ABC" may />);
  await screen.type("Add somebody by e-mail", " x@b.example ");
  await screen.submit();
  assert.deepEqual(sent("POST")[0]!.body, { email: "x@b.example" });
  assert.match(screen.text, /Nobody has an account with this e-mail address/);
  assert.equal(screen.field("Add somebody by e-mail").value, "x@b.example", "to be mended and sent again");
});
