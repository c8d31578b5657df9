import "../testkit/browser";
import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { Screen, settle } from "../testkit/screen";
import { refusal, Server } from "../testkit/server";
import { ApiError, call, Unreachable } from "./client";
import {
  refreshSession,
  resume,
  signIn,
  signOut,
  useOwnSession,
  useSession,
  watchIdle,
  watchTabs,
  whenPersonChanges,
} from "./session";
import type { Session } from "./types";

const server = new Server();
let screen: Screen;
let forgotten = 0;
let reported: { onmessage: ((event: { data: unknown }) => void) | null; sent: unknown[] };

function Who() {
  const now = useSession();
  if (now.is === "in") return <p>{now.session.account.email}</p>;
  return <p>{now.is === "out" ? `out: ${now.because}` : `unknown: ${now.problem ?? ""}`}</p>;
}

function session(name: string, token = `token of ${name}`): Session {
  const account = { uuid: name, email: name, role: "researcher" as const, has_subscription: true };
  const rest = { idle_s: 900, ends_at: "", must_change_password: false, totp: false, wall_display: false };
  return { csrf_token: token, account, ...rest };
}

const pass = async (ms: number) => {
  await act(() => mock.timers.tick(ms));
  await settle();
};
const enter = async (name: string) => {
  server.on("POST", "/portal/session", () => session(name));
  await act(() => signIn({ email: name, password: "p" }));
};

before(() => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  class Channel {
    onmessage = null;
    sent: unknown[] = [];
    constructor() {
      reported = this as unknown as typeof reported;
    }
    postMessage(data: unknown) {
      this.sent.push(data);
    }
  }
  Object.assign(globalThis, { BroadcastChannel: Channel });
  whenPersonChanges(() => (forgotten += 1));
  screen = new Screen(<Who />);
  watchIdle();
  watchTabs();
});
after(() => {
  screen.leave();
  mock.timers.reset();
});

test("until the server answers, nobody is said to be signed out", async () => {
  server.on("GET", "/portal/session?optional=1", () => new TypeError("fetch failed"));
  await act(() => resume());
  assert.equal(screen.text, "unknown: The server cannot be reached.");
  server.on("GET", "/portal/session?optional=1", () => refusal(503, "busy", { retryAfter: "7" }));
  await pass(3_000);
  assert.match(screen.text, /^unknown: The service is busy/);
  server.on("GET", "/portal/session?optional=1", () => session("ada"));
  await pass(6_999);
  assert.match(screen.text, /^unknown/, "as long as the server asks for");
  await pass(1);
  assert.equal(screen.text, "ada");
});

test("an empty answer says that there is no session, which is no error of a first visit", async () => {
  server.on("GET", "/portal/session?optional=1", () => undefined);
  await act(() => resume());
  assert.equal(screen.text, "out: never");
});

test("who signs in is there, with the token that later calls carry", async () => {
  await enter("ada");
  assert.equal(screen.text, "ada");
  server.on("POST", "/x", () => undefined);
  await call("POST", "/x");
  assert.equal(server.of("/x")[0]!.headers["X-CSRF-Token"], "token of ada");
});

test("wrong credentials are an error and change nothing on the screen", async () => {
  server.on("POST", "/portal/session", () => refusal(401, "invalid_credentials"));
  await assert.rejects(
    signIn({ email: "a", password: "b" }),
    (error) => (error as ApiError).code === "invalid_credentials",
  );
  assert.equal(screen.text, "ada");
});

test("what one person had is forgotten before the next, and kept when the same signs in again", async () => {
  const before = forgotten;
  await enter("ada");
  assert.equal(forgotten, before);
  await enter("ben");
  assert.equal(forgotten, before + 1);
});

test("a change of the account is read again", async () => {
  server.on("GET", "/portal/session", () => ({ ...session("ben"), totp: true }));
  const before = forgotten;
  await act(() => refreshSession());
  assert.equal(forgotten, before);
  assert.equal(screen.text, "ben");
});

test("somebody who has signed in again in another tab goes on, somebody else does not", async () => {
  let fresh = "new token";
  server.on("GET", "/portal/session", () => session("ben", fresh));
  server.on("POST", "/y", ({ headers }) => (headers["X-CSRF-Token"] === fresh ? "done" : refusal(403, "csrf")));
  assert.equal(await call("POST", "/y"), "done");
  fresh = "newer token";
  server.on("GET", "/portal/session", () => session("eve", fresh));
  await act(async () => {
    await assert.rejects(call("POST", "/y"), (error) => (error as ApiError).code === "csrf");
  });
  assert.equal(screen.text, "eve", "the page is that of the person whose session the cookie holds");
  await enter("ben");
});

test("a session that cannot be read while its token is stale is left as it is", async () => {
  server.on("GET", "/portal/session", () => new TypeError("fetch failed"));
  server.on("POST", "/z", () => refusal(403, "csrf"));
  await assert.rejects(call("POST", "/z"), (error) => (error as ApiError).code === "csrf");
  assert.equal(screen.text, "ben");
});

test("signing out needs the server", async () => {
  server.on("DELETE", "/portal/session", () => new TypeError("fetch failed"));
  await assert.rejects(signOut(), Unreachable);
  assert.equal(screen.text, "ben");
  assert.deepEqual(reported.sent, []);
  server.on("DELETE", "/portal/session", () => refusal(500, "internal"));
  await assert.rejects(signOut(), ApiError);
  assert.equal(screen.text, "ben");
  server.on("DELETE", "/portal/session", () => undefined);
  await act(() => signOut());
  assert.equal(screen.text, "out: left");
  assert.deepEqual(reported.sent, ["left"], "the other tabs leave too");
});

test("a session that was over already can be left", async () => {
  await enter("ben");
  server.on("DELETE", "/portal/session", () => refusal(401, "session_expired"));
  await act(() => signOut());
  assert.equal(screen.text, "out: left");
});

test("another tab that leaves takes this one along, other words do not", async () => {
  await enter("ben");
  await act(() => reported.onmessage!({ data: "hello" }));
  assert.equal(screen.text, "ben");
  await act(() => reported.onmessage!({ data: "left" }));
  assert.equal(screen.text, "out: left_elsewhere");
  await act(() => reported.onmessage!({ data: "left" }));
  assert.equal(screen.text, "out: left_elsewhere");
});

test("a call that finds the session over brings the sign-in page", async () => {
  await enter("ben");
  server.on("GET", "/w", () => refusal(401, "session_expired"));
  await act(async () => void (await call("GET", "/w").catch(() => {})));
  assert.equal(screen.text, "out: ended");
});

test("the session is kept alive by those who touch the page and by nobody else", async () => {
  await enter("ben");
  server.on("GET", /^\/portal\/session/, () => session("ben"));
  const asked = () => server.asked.at(-1)!.path;
  await pass(30_000);
  assert.equal(asked(), "/portal/session?peek=1");
  dispatchEvent(new Event("pointermove"));
  await pass(30_000);
  assert.equal(asked(), "/portal/session");
  await pass(30_000);
  assert.equal(asked(), "/portal/session?peek=1", "one touch counts once");
});

test("a session that has locked meanwhile is noticed, a server that is away is no lock", async () => {
  server.on("GET", /^\/portal\/session/, () => new TypeError("fetch failed"));
  await pass(30_000);
  assert.equal(screen.text, "ben");
  server.on("GET", /^\/portal\/session/, () => refusal(401, "session_expired"));
  await pass(30_000);
  assert.equal(screen.text, "out: ended");
  const before = server.asked.length;
  await pass(90_000);
  assert.equal(
    server.of(/session/).length,
    server.asked.slice(0, before).filter(({ path }) => /session/.test(path)).length,
  );
});

test("a page within the frame is never there without a session", () => {
  const Own = () => <p>{useOwnSession().account.email}</p>;
  assert.throws(() => new Screen(<Own />), /needs a session/);
});
