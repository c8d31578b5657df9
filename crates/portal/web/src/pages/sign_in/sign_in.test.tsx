import "../../testkit/browser";
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { sessionOf } from "../../testkit/people";
import { Screen, settle, textOf } from "../../testkit/screen";
import { later, refusal, Server } from "../../testkit/server";
import { SignIn } from "./page";

let server: Server;
let screen: Screen;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  server = new Server();
  screen = new Screen(<SignIn because="never" />);
});
afterEach(() => {
  screen.leave();
  mock.timers.reset();
});

const sent = () => server.of("/portal/session").map(({ body }) => body);
const reported = () => textOf(screen.one("[role=alert]"));
const refuse = (...refused: Parameters<typeof refusal>) =>
  server.on("POST", "/portal/session", () => refusal(...refused));
const tryWith = async (email: string, password: string) => {
  await screen.type("E-mail", email);
  await screen.type("Password", password);
  await screen.submit();
};

test("the address is sent without its blanks, the password as it is", async () => {
  server.on("POST", "/portal/session", () => sessionOf("ada"));
  await tryWith(" ada@b.example ", " pass word ");
  assert.deepEqual(sent(), [{ email: "ada@b.example", password: " pass word " }]);
});

test("a wall display says that it is one", async () => {
  server.on("POST", "/portal/session", () => sessionOf("ada"));
  await screen.choose("Wall display", true);
  await tryWith("a", "b");
  assert.deepEqual(sent(), [{ email: "a", password: "b", wall_display: true }]);
});

test("why one is here is said where there is a reason", () => {
  assert.equal(screen.text.includes("signed out"), false);
  screen.draw(<SignIn because="ended" />);
  assert.match(screen.text, /nobody used the portal for a while/);
  screen.draw(<SignIn because="left_elsewhere" />);
  assert.match(screen.text, /in another tab/);
});

test("wrong credentials do not say which of them is wrong", async () => {
  refuse(401, "invalid_credentials");
  await tryWith("a", "b");
  assert.equal(reported(), "E-mail or password is not right.");
  assert.equal(screen.button("Sign in").disabled, false);
});

test("the code is asked for when the account wants one, and sent without blanks", async () => {
  refuse(401, "totp_required");
  await tryWith("a", "b");
  assert.equal(reported(), "", "asking for a code is no failure");
  await screen.type("Code from your authenticator app", "123 456");
  server.on("POST", "/portal/session", () => sessionOf("ada"));
  await screen.submit();
  assert.deepEqual(sent().at(-1), { email: "a", password: "b", totp: "123456" });
});

test("a recovery code is sent instead of the six digits", async () => {
  refuse(401, "totp_required");
  await tryWith("a", "b");
  await screen.press("Use a recovery code");
  await screen.type("Recovery code", "gayt-emzu-gu3d-oobz");
  refuse(401, "invalid_credentials");
  await screen.submit();
  assert.deepEqual(sent().at(-1), { email: "a", password: "b", totp: "gayt-emzu-gu3d-oobz" });
  assert.match(reported(), /recovery code is not right/);
  await screen.press("Use the app");
  assert.equal(screen.field("Code from your authenticator app").value, "");
});

test("a wrong code is taken out of its field, the rest stays", async () => {
  refuse(401, "totp_required");
  await tryWith("a", "b");
  await screen.type("Code from your authenticator app", "111111");
  refuse(401, "invalid_credentials");
  await screen.submit();
  assert.match(reported(), /The password or the code is not right/);
  assert.equal(screen.field("Code from your authenticator app").value, "");
  assert.equal(screen.field("Password").value, "b");
});

test("too many tries count down, and then there may be another", async () => {
  refuse(429, "too_many_requests", { retryAfter: "3" });
  await tryWith("a", "b");
  assert.equal(reported(), "Too many tries. Wait 3 s before the next one.");
  assert.equal(screen.button("Sign in").disabled, true);
  for (const left of ["2 s", "1 s"]) {
    await act(() => mock.timers.tick(1_000));
    assert.match(reported(), new RegExp(`Wait ${left}`));
  }
  await act(() => mock.timers.tick(1_000));
  assert.equal(reported(), "");
  assert.equal(screen.button("Sign in").disabled, false);
});

test("a wait of a part of a second ends too, and what comes then is shown", async () => {
  refuse(429, "too_many_requests", { retryAfter: "1.5" });
  await tryWith("a", "b");
  for (let second = 0; second < 3; second += 1) await act(() => mock.timers.tick(1_000));
  refuse(401, "invalid_credentials");
  await screen.submit();
  assert.equal(reported(), "E-mail or password is not right.");
});

test("one try at a time", async () => {
  const slow = later<unknown>();
  server.on("POST", "/portal/session", () => slow.answer);
  await tryWith("a", "b");
  await screen.submit();
  assert.equal(sent().length, 1);
  assert.equal(screen.button("Sign in").disabled, true);
  await act(() => slow.come(refusal(401, "invalid_credentials")));
  await settle();
  assert.equal(screen.button("Sign in").disabled, false);
});

test("a server that is away is no wrong password", async () => {
  server.on("POST", "/portal/session", () => new TypeError("fetch failed"));
  await tryWith("a", "b");
  assert.match(reported(), /^The server cannot be reached/);
});
