import "../../testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import type { ApiKey } from "../../api/types";
import { enter, group, sessionOf } from "../../testkit/people";
import { Screen, settle, textOf } from "../../testkit/screen";
import { refusal, Server } from "../../testkit/server";
import { KeysPart } from "./keys";
import { SecurityPart } from "./security";

const NOW = Date.parse("2026-11-22T12:00:00Z");
let server: Server;
let screen: Screen;
let keys: Partial<ApiKey>[] = [];

before(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: NOW }));
after(() => mock.timers.reset());
beforeEach(async () => {
  server = new Server();
  keys = [];
  server
    .on("GET", "/integration/v1/groups", () => [group("ABCDE"), group("FGHIJ")])
    .on("GET", "/portal/api/keys", () => keys)
    .on("GET", "/portal/api/sessions", () => []);
  await enter(server, `person ${Math.random()}`);
  screen = new Screen(null);
});
afterEach(() => screen.leave());

const show = async (part: preact.ComponentChild) => {
  screen.draw(part);
  await settle();
};
const sent = (method: string) => server.asked.filter((one) => one.method === method);
const key = (id: string, more: Partial<ApiKey> = {}): Partial<ApiKey> => ({
  id,
  name: id,
  prefix: "pw_1",
  is_scoped: Boolean(more.groups?.length),
  created_at: "2026-11-01T00:00:00Z",
  ...more,
});

test("a key is shown once, and its dialog is left by its own button only", async () => {
  server.on("POST", "/portal/api/keys", () => key("k", { key: "pw_secret" }));
  await show(<KeysPart />);
  await screen.press("New API key");
  await screen.type("Name", " Notebook ");
  await screen.choose("Works for", "30");
  await screen.choose("Study FGHIJ (FGHIJ)", true);
  await screen.submit();
  assert.deepEqual(sent("POST").at(-1)!.body, {
    name: "Notebook",
    groups: ["FGHIJ"],
    expires_at: "2026-12-22T12:00:00.000Z",
  });
  assert.match(screen.text, /pw_secret/);
  assert.equal(screen.all("[aria-label=Close]").length, 0);
  await screen.press("I have copied it");
  assert.equal(screen.text.includes("pw_secret"), false);
});

test("a key without an end or studies names neither", async () => {
  server.on("POST", "/portal/api/keys", () => key("k", { key: "x" }));
  await show(<KeysPart />);
  await screen.press("New API key");
  await screen.type("Name", "N");
  await screen.choose("Works for", "");
  await screen.submit();
  assert.deepEqual(sent("POST").at(-1)!.body, { name: "N" });
});

test("the list says which keys still work, and what is revoked cannot be revoked again", async () => {
  keys = [
    key("active"),
    key("ending", { expires_at: new Date(NOW + 86_400_000).toISOString(), groups: ["ABCDE"] }),
    key("expired", { expires_at: new Date(NOW - 1).toISOString() }),
    key("revoked", { revoked_at: new Date(NOW - 1).toISOString() }),
    key("nameless", { name: null, groups: [] }),
  ];
  await show(<KeysPart />);
  const line = (name: string) => screen.all("tbody tr").find((row) => textOf(row).startsWith(name))!;
  assert.match(textOf(line("active")), /all of mine.*Active/);
  assert.match(textOf(line("ending")), /ABCDE.*Ends soon/);
  assert.match(textOf(line("expired")), /Expired/);
  assert.match(textOf(line("revoked")), /Revoked/);
  assert.match(textOf(line("without a name")), /all of mine/, "no study chosen is all of them");
  assert.deepEqual(
    ["active", "ending", "expired", "revoked"].map((name) => line(name).querySelectorAll("button").length),
    [1, 1, 1, 0],
  );
});

test("a key whose studies are gone says that it opens nothing", async () => {
  keys = [
    key("none", { groups: ["GONE1", "GONE2"] }),
    key("some", { groups: ["ABCDE", "GONE1"] }),
    key("whole", { groups: ["ABCDE", "FGHIJ"] }),
    key("bare", { is_scoped: true, groups: [] }),
  ];
  await show(<KeysPart />);
  const studies = (name: string) =>
    textOf(
      screen
        .all("tbody tr")
        .find((row) => textOf(row).startsWith(name))!
        .querySelectorAll("td, th")[2]!,
    );
  assert.equal(studies("none"), "opens nothing: GONE1 GONE2 no longer yours");
  assert.equal(studies("some"), "ABCDE (GONE1 no longer yours)");
  assert.equal(studies("whole"), "ABCDE FGHIJ");
  assert.equal(studies("bare"), "opens nothing: its studies are gone");
});

test("what a key opens is not guessed while the studies cannot be read", async () => {
  server.on("GET", "/integration/v1/groups", () => refusal(500, "internal"));
  await enter(server, `person ${Math.random()}`);
  keys = [key("one", { groups: ["GONE1"] })];
  await show(<KeysPart />);
  assert.match(textOf(screen.one("tbody tr")), /GONE1/);
  assert.doesNotMatch(textOf(screen.one("tbody tr")), /nothing|no longer/);
});

test("a refused name is shown at its field", async () => {
  server.on("POST", "/portal/api/keys", () => refusal(422, "invalid", { errors: { name: ["is taken"] } }));
  await show(<KeysPart />);
  await screen.press("New API key");
  await screen.type("Name", "N");
  await screen.submit();
  assert.equal(textOf(document.getElementById(screen.field("Name").getAttribute("aria-describedby")!)!), "is taken");
});

test("passwords that differ are not sent, those that were taken are gone from the page", async () => {
  server.on("PUT", "/portal/api/account/password", () => undefined);
  await show(<SecurityPart />);
  await screen.type("Current password", "c");
  await screen.type("New password", "a long password");
  await screen.type("New password again", "a long passwort");
  assert.equal(screen.button("Change password").disabled, true);
  await screen.submit();
  assert.equal(sent("PUT").length, 0);
  await screen.type("New password again", "a long password");
  await screen.submit();
  assert.deepEqual(sent("PUT")[0]!.body, { current: "c", new: "a long password" });
  assert.deepEqual(
    ["Current password", "New password", "New password again"].map((label) => screen.field(label).value),
    ["", "", ""],
  );
});

test("a wrong current password is reported at its field, and what was typed stays", async () => {
  server.on("PUT", "/portal/api/account/password", () =>
    refusal(422, "invalid", { errors: { current: ["is not right"] } }),
  );
  await show(<SecurityPart />);
  for (const label of ["Current password", "New password", "New password again"])
    await screen.type(label, "xxxxxxxxxx");
  await screen.submit();
  assert.equal(
    textOf(document.getElementById(screen.field("Current password").getAttribute("aria-describedby")!)!),
    "is not right",
  );
  assert.equal(screen.field("New password").value, "xxxxxxxxxx");
});

test("the second factor counts after its first code, blanks or not", async () => {
  server.on("POST", "/portal/api/totp", () => ({ secret: "ABC", otpauth_url: "otpauth://totp/x?secret=ABC" }));
  server.on("PUT", "/portal/api/totp", () => ({ recovery_codes: ["gayt-emzu-gu3d-oobz", "aaaa-bbbb-cccc-dddd"] }));
  server.on("GET", "/portal/session", () => sessionOf("ada", { totp: true }));
  server.on("GET", "/portal/api/totp/recovery-codes", () => ({ left: 2 }));
  await show(<SecurityPart />);
  await screen.press("Set up");
  assert.equal(screen.all("svg.qr").length, 1);
  await screen.type("2. Type the six digits that it shows", "123 456");
  const dialog = screen.one("dialog form");
  dialog.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  await settle();
  assert.deepEqual(sent("PUT").at(-1)!.body, { code: "123456" });
  assert.match(screen.text, /gayt-emzu-gu3d-oobz.*aaaa-bbbb-cccc-dddd/s);
  assert.equal(screen.all("[aria-label=Close]").length, 0, "they are put away by their own button only");
  await screen.press("I have kept them");
  await settle();
  assert.equal(screen.all("dialog").length, 0);
  assert.match(screen.text, /2 recovery codes are left/);
});

test("new recovery codes are made with the password, and asked for when few are left", async () => {
  let left = 3;
  server.on("GET", "/portal/session", () => sessionOf("ada", { totp: true }));
  server.on("GET", "/portal/api/totp/recovery-codes", () => ({ left }));
  await enter(server, "ada", { totp: true });
  await show(<SecurityPart />);
  assert.match(screen.text, /Make new recovery codes/);
  await screen.press("New recovery codes");
  await screen.type("Password", "not mine");
  server.on("POST", "/portal/api/totp/recovery-codes", () =>
    refusal(422, "invalid", { errors: { password: ["is not the present password"] } }),
  );
  const submit = async () => {
    screen.one("dialog form").dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
    await settle();
  };
  await submit();
  assert.match(screen.text, /is not the present password/);
  server.on("POST", "/portal/api/totp/recovery-codes", () => ({ recovery_codes: ["gayt-emzu-gu3d-oobz"] }));
  await screen.type("Password", "mine");
  await submit();
  assert.deepEqual(sent("POST").at(-1)!.body, { password: "mine" });
  assert.match(screen.text, /gayt-emzu-gu3d-oobz/);
  left = 10;
  await screen.press("I have kept them");
  await settle();
  assert.match(screen.text, /10 recovery codes are left/);
  assert.equal(screen.text.includes("Make new recovery codes"), false);
});

test("a session elsewhere is ended, this one is left", async () => {
  const one = (id: string, current: boolean) => ({
    id,
    current,
    created_at: "2026-11-22T10:00:00Z",
    last_seen_at: "2026-11-22T11:00:00Z",
    address: "::1",
    user_agent: "Firefox/140 Windows",
    wall_display: !current,
  });
  server.on("GET", "/portal/api/sessions", () => [one("s/1", false), one("s2", true)]);
  server.on("DELETE", /sessions/, () => undefined).on("DELETE", "/portal/session", () => undefined);
  await show(<SecurityPart />);
  assert.match(screen.text, /Firefox on Windows Wall display/);
  await screen.press("End session");
  assert.equal(sent("DELETE")[0]!.path, "/portal/api/sessions/s%2F1");
});
