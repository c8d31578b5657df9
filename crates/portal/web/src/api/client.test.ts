import "../testkit/browser";
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { refusal, Server } from "../testkit/server";
import { ApiError, call, get, getText, setCsrfToken, Unreachable, whenSessionEnds, whenTokenIsStale } from "./client";

let server: Server;
let ended = 0;

beforeEach(() => {
  server = new Server();
  ended = 0;
  whenSessionEnds(() => (ended += 1));
  whenTokenIsStale(async () => false);
  setCsrfToken("");
});
afterEach(() => setCsrfToken(""));

const failing = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => assert.fail("it went through"),
    (error: unknown) => error,
  );

test("a call carries the token once there is one, and a body only where there is one", async () => {
  server.on("GET", "/a", () => ({ n: 1 })).on("POST", "/b", () => ({ n: 2 }));
  assert.deepEqual(await get("/a"), { n: 1 });
  assert.deepEqual(server.asked[0]!.headers, { Accept: "application/json" });
  assert.equal(server.asked[0]!.body, undefined);
  setCsrfToken("t0");
  assert.deepEqual(await call("POST", "/b", { name: "Zürich", none: null }), { n: 2 });
  assert.deepEqual(server.asked[1]!.headers, {
    Accept: "application/json",
    "X-CSRF-Token": "t0",
    "Content-Type": "application/json",
  });
  assert.deepEqual(server.asked[1]!.body, { name: "Zürich", none: null });
});

test("a body that is false, zero or null is a body", async () => {
  server.on("PUT", "/c", () => undefined);
  for (const body of [false, 0, null, ""]) await call("PUT", "/c", body);
  assert.deepEqual(
    server.asked.map(({ body }) => body),
    [false, 0, null, ""],
  );
});

test("an answer without a body is undefined", async () => {
  server.on("DELETE", "/d", () => new Response(null, { status: 204 }));
  assert.equal(await call("DELETE", "/d"), undefined);
});

test("a refusal keeps the server's code, its fields and its time to wait", async () => {
  server.on("GET", "/e", () =>
    refusal(422, "invalid", { message: "see fields", errors: { height: ["must be 50 to 250"] }, retryAfter: "12" }),
  );
  const error = (await failing(get("/e"))) as ApiError;
  assert.ok(error instanceof ApiError);
  assert.deepEqual([error.status, error.code, error.message], [422, "invalid", "see fields"]);
  assert.deepEqual(error.fields, { height: ["must be 50 to 250"] });
  assert.equal(error.retryAfterS, 12);
});

test("a time to wait that is no number of seconds is none", async () => {
  const waits: (number | null)[] = [];
  for (const retryAfter of ["Wed, 21 Oct 2026 07:28:00 GMT", "0", "-5", "", undefined, "2.5"]) {
    server.on("GET", "/f", () => refusal(429, "too_many_requests", { retryAfter }));
    waits.push(((await failing(get("/f"))) as ApiError).retryAfterS);
  }
  assert.deepEqual(waits, [null, null, null, null, null, 2.5]);
});

test("what a proxy answers in the place of the service is an error with its status", async () => {
  const bodies = ["<html>Bad Gateway</html>", "", "null", "[]", '"text"', "{}", '{"message":""}'];
  for (const body of bodies) {
    // HTTP/2 has no reason phrase with its status.
    server.on("GET", "/g", () => new Response(body, { status: 502 }));
    const error = (await failing(get("/g"))) as ApiError;
    assert.ok(error instanceof ApiError, body);
    assert.deepEqual([error.status, error.code, error.message], [502, "unknown", "status 502"], body);
  }
});

test("no answer at all is no refusal", async () => {
  server.on("GET", "/h", () => new TypeError("fetch failed"));
  assert.ok((await failing(get("/h"))) instanceof Unreachable);
  assert.equal(ended, 0);
});

test("a call that its caller ends stays the caller's own error", async () => {
  server.on("GET", "/i", () => new Promise(() => {}));
  const stop = new AbortController();
  const error = failing(get("/i", stop.signal));
  stop.abort();
  assert.equal(((await error) as Error).name, "AbortError");
});

test("a session that is over is reported once for each call, a wrong password is not one", async () => {
  server.on("GET", "/j", () => refusal(401, "session_expired"));
  await failing(get("/j"));
  assert.equal(ended, 1);
  server.on("POST", "/portal/session", () => refusal(401, "invalid_credentials"));
  await failing(call("POST", "/portal/session", {}));
  server.on("POST", "/portal/api/account/password", () => refusal(401, "invalid_credentials"));
  await failing(call("POST", "/portal/api/account/password", {}));
  server.on("DELETE", "/portal/api/totp", () => refusal(401, "totp_required"));
  await failing(call("DELETE", "/portal/api/totp"));
  assert.equal(ended, 1);
});

test("what was refused for an old token is sent once more with the new one", async () => {
  setCsrfToken("old");
  whenTokenIsStale(async () => (setCsrfToken("new"), true));
  server.on("POST", "/k", ({ headers }) => (headers["X-CSRF-Token"] === "new" ? { made: true } : refusal(403, "csrf")));
  assert.deepEqual(await call("POST", "/k", { name: "n" }), { made: true });
  assert.deepEqual(
    server.asked.map(({ body }) => body),
    [{ name: "n" }, { name: "n" }],
  );
});

test("a token that is refused again is an error and no endless loop", async () => {
  whenTokenIsStale(async () => true);
  server.on("POST", "/l", () => refusal(403, "csrf"));
  assert.equal(((await failing(call("POST", "/l"))) as ApiError).code, "csrf");
  assert.equal(server.asked.length, 2);
});

test("somebody else's session changes nothing in the name of the one before", async () => {
  whenTokenIsStale(async () => false);
  server.on("POST", "/m", () => refusal(403, "csrf"));
  assert.equal(((await failing(call("POST", "/m"))) as ApiError).code, "csrf");
  assert.equal(server.asked.length, 1);
});

test("a text comes as it is, and its refusal as any other", async () => {
  server.on("GET", "/strip.svg", () => new Response("<svg/>"));
  assert.equal(await getText("/strip.svg"), "<svg/>");
  server.on("GET", "/strip.svg", () => refusal(404, "not_found"));
  assert.equal(((await failing(getText("/strip.svg"))) as ApiError).code, "not_found");
});
