import "./testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { connectionAnswered, connectionLost } from "./api/connection";
import { resume, signOut } from "./api/session";
import { App } from "./app";
import { navigate } from "./router";
import { enter, group, sessionOf } from "./testkit/people";
import { Screen, settle, textOf } from "./testkit/screen";
import { refusal, Server } from "./testkit/server";

let server: Server;
let screen: Screen;

before(() =>
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.parse("2026-11-22T12:00:00Z") }),
);
after(() => mock.timers.reset());
beforeEach(async () => {
  server = new Server();
  server.on("GET", "/integration/v1/groups", () => [group("ABCDE"), group("FGHIJ")]);
  server.on("GET", "/livez", () => "ok");
  await act(() => navigate("/", { replace: true }));
  screen = new Screen(<App />);
});
afterEach(async () => {
  server.on("DELETE", "/portal/session", () => undefined);
  await act(() => signOut());
  screen.leave();
});

const goTo = async (address: string) => {
  await act(() => navigate(address));
  // A page is a module of its own, which takes some turns to load.
  for (let turn = 0; turn < 5; turn += 1) await settle();
};
const tabs = () => screen.all("nav[aria-label=Study] a").map(textOf);

test("at the start nothing is said for a moment, then that the server is waited for", async () => {
  server.on("GET", "/portal/session?optional=1", () => new Promise(() => {}));
  void resume();
  await settle();
  assert.equal(screen.text, "");
  await act(() => mock.timers.tick(800));
  assert.equal(screen.text, "Waiting for the server…");
});

test("nobody signed in sees the sign-in page at any address, and comes back to it", async () => {
  server.on("GET", "/portal/session?optional=1", () => undefined);
  await act(() => resume());
  await goTo("/studies/ABCDE/settings");
  assert.equal(textOf(screen.one("h1")), "Sign in");
  server.on("GET", /settings$|hcps$/, () => []);
  await enter(server);
  assert.equal(location.pathname, "/studies/ABCDE/settings");
  assert.equal(screen.all("header.top").length, 1);
});

test("a password that staff have set is changed before anything else", async () => {
  await enter(server, "ada", { must_change_password: true });
  await goTo("/audit");
  assert.equal(textOf(screen.one("h1")), "Choose a new password");
  await screen.type("Current password", "old password");
  await screen.type("New password", "a new password");
  await screen.type("New password again", "a new passwort");
  assert.match(screen.text, /This is not the same/);
  await screen.submit();
  assert.equal(server.of(/password/).length, 0, "a slip of the finger is not sent");
  server.on("PUT", "/portal/api/account/password", () => undefined);
  server.on("GET", "/portal/session", () => sessionOf("ada"));
  await screen.type("New password again", "a new password");
  await screen.submit();
  assert.deepEqual(server.of(/password/)[0]!.body, { current: "old password", new: "a new password" });
  assert.equal(screen.all("header.top").length, 1);
});

test("an address that no page has says so within the frame", async () => {
  await enter(server);
  await goTo("/studies/ABCDE/nothing");
  assert.match(screen.text, /There is no such page/);
  assert.equal(document.title, "Not found · Pulseward");
});

test("the first page leaves the focus where the browser has it", async () => {
  await act(() => navigate("/nowhere", { replace: true }));
  await enter(server);
  await settle();
  assert.ok(document.activeElement !== screen.one("main"));
});

test("a page is loaded, named and given the focus", async () => {
  await enter(server);
  await goTo("/settings");
  assert.equal(document.title, "Settings · Pulseward");
  assert.ok(document.activeElement === screen.one("main"));
});

test("each role sees the steps that it may take", async () => {
  server.on("GET", /./, () => new Promise(() => {}));
  server.on("GET", "/integration/v1/groups", () => [group("ABCDE")]);
  await enter(server, "ada");
  await goTo("/studies/ABCDE/patients");
  assert.deepEqual(tabs(), ["Board", "Patients", "Compliance", "Vouchers", "Exports", "Study settings"]);
  assert.equal(textOf(screen.one("nav[aria-label=Study] [aria-current]")), "Patients");
  await enter(server, "ben", { role: "hcp" });
  await settle();
  assert.deepEqual(tabs(), ["Board", "Patients", "Compliance", "Study settings"]);
  await enter(server, "wall", { wall_display: true });
  await settle();
  assert.deepEqual(tabs(), ["Board", "Patients", "Compliance"]);
  assert.equal(screen.all("nav[aria-label=Portal]").length, 0);
});

test("a patient's page lies below the patients, a code that begins like another does not", async () => {
  server.on("GET", /./, () => new Promise(() => {}));
  await enter(server);
  await goTo("/studies/ABCDE/patients/u/record");
  assert.equal(textOf(screen.one("nav[aria-label=Study] [aria-current]")), "Patients");
  assert.deepEqual(
    screen.all("nav.crumbs a").map((link) => link.getAttribute("href")),
    ["/studies/ABCDE", "/studies/ABCDE/patients"],
  );
});

test("a lost connection is shown with the time of what is seen, and its end takes the words away", async () => {
  await enter(server);
  await goTo("/nowhere");
  await act(() => connectionAnswered());
  await act(() => connectionLost());
  assert.match(screen.text, /Connection lost\. What you see is from 13:00 or before/);
  await act(() => connectionAnswered());
  assert.equal(screen.text.includes("Connection lost"), false);
});

test("signing out without the server says that one is still signed in", async () => {
  await enter(server);
  await goTo("/nowhere");
  server.on("DELETE", "/portal/session", () => new TypeError("fetch failed"));
  await screen.press("Sign out");
  assert.match(screen.text, /Could not sign out: no connection/);
  assert.equal(screen.all("header.top").length, 1);
  server.on("DELETE", "/portal/session", () => refusal(500, "internal"));
  await screen.press("Sign out");
  assert.match(screen.text, /Could not sign out: Something went wrong on the server/);
});

test("nothing that one person has typed stays for the next", async () => {
  await enter(server);
  server.on("GET", /./, () => []);
  await goTo("/studies/ABCDE/settings");
  await enter(server, "ben");
  await settle();
  assert.equal(screen.text.includes("ada@"), false);
  assert.match(screen.text, /ben@ward\.example/);
});

test("a study is called by its name, and by its code until that is known", async () => {
  server.on("GET", /./, () => new Promise(() => {}));
  await enter(server, "cem");
  await goTo("/studies/ABCDE/patients");
  assert.equal(textOf(screen.one("nav.crumbs")), "ABCDE");
  server.on("GET", "/integration/v1/groups", () => [group("ABCDE", { name: "Schlaf nach Operation" })]);
  await enter(server, "dan");
  await settle();
  assert.equal(textOf(screen.one("nav.crumbs")), "Schlaf nach Operation");
});
