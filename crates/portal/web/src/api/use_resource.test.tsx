import "../testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { Screen, settle } from "../testkit/screen";
import { later, refusal, Server } from "../testkit/server";
import { connectionAnswered } from "./connection";
import { type Resource, useResource } from "./use_resource";

let server: Server;
let screen: Screen;
let held: Resource<string>;

function Reader({ path, againS = null }: { path: string | null; againS?: number | null }) {
  held = useResource<string>(path, againS);
  const { data, error, loading } = held;
  return <p>{error ? `failed: ${error.message}` : `${data ?? "nothing"}${loading ? ", loading" : ""}`}</p>;
}

const pass = async (ms: number) => {
  await act(() => mock.timers.tick(ms));
  await settle();
};
const read = async (path: string | null, againS?: number) => {
  screen.draw(<Reader path={path} againS={againS} />);
  await settle();
};

before(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1_000_000 }));
after(() => mock.timers.reset());
beforeEach(() => {
  server = new Server();
  screen = new Screen(null);
});
afterEach(() => screen.leave());

test("what is read is there with its time, and nothing is asked for without a path", async () => {
  await read(null);
  assert.equal(screen.text, "nothing");
  server.on("GET", "/a", () => "first");
  screen.draw(<Reader path="/a" />);
  assert.equal(screen.text, "nothing, loading");
  await settle();
  assert.equal(screen.text, "first");
  assert.equal(held.readAt, 1_000_000);
  assert.deepEqual(
    server.asked.map(({ path }) => path),
    ["/a"],
  );
});

test("what was read stays while it is read again, and goes with its path", async () => {
  server.on("GET", "/a", () => "first");
  await read("/a");
  const second = later<string>();
  server.on("GET", "/a", () => second.answer);
  await act(() => held.reload());
  assert.equal(screen.text, "first, loading");
  await act(() => second.come("second"));
  await settle();
  assert.equal(screen.text, "second");
  server.on("GET", "/b", () => new Promise(() => {}));
  await read("/b");
  assert.equal(screen.text, "nothing, loading", "what one path had is not shown for another");
});

test("a step to another path ends the request before, whose answer is not taken for the new one's", async () => {
  const slow = later<string>();
  server.on("GET", "/slow", () => slow.answer).on("GET", "/fast", () => "fast");
  await read("/slow");
  await read("/fast");
  assert.equal(server.of("/slow")[0]!.signal!.aborted, true);
  await act(() => slow.come("late"));
  await settle();
  assert.equal(screen.text, "fast");
});

test("a request that was ended is no failure of the next", async () => {
  server.on("GET", /^\/(a|b)$/, () => new Promise(() => {}));
  await read("/a");
  await read("/b");
  assert.equal(screen.text, "nothing, loading");
});

test("a page that is left ends its request", async () => {
  server.on("GET", "/a", () => new Promise(() => {}));
  await read("/a");
  screen.draw(null);
  assert.equal(server.asked[0]!.signal!.aborted, true);
});

test("a refusal is shown, and a further try takes it away", async () => {
  server.on("GET", "/a", () => refusal(403, "forbidden", { message: "not a member" }));
  await read("/a");
  assert.equal(screen.text, "failed: not a member");
  server.on("GET", "/a", () => "allowed");
  await act(() => held.reload());
  await settle();
  assert.equal(screen.text, "allowed");
});

test("a short wait is waited for in silence, a long one is shown", async () => {
  server.on("GET", "/a", () => refusal(429, "too_many_requests", { retryAfter: "20" }));
  await read("/a");
  assert.equal(screen.text, "nothing, loading");
  server.on("GET", "/a", () => "after a while");
  await pass(19_999);
  assert.equal(server.asked.length, 1);
  await pass(1);
  assert.equal(screen.text, "after a while");
  server.on("GET", "/b", () => refusal(429, "too_many_requests", { retryAfter: "21" }));
  await read("/b");
  assert.match(screen.text, /^failed/);
});

test("a wait is over with the page that waits", async () => {
  server.on("GET", "/a", () => refusal(503, "busy"));
  await read("/a");
  screen.draw(null);
  await pass(60_000);
  assert.equal(server.asked.length, 1);
});

test("a lost connection leaves what was read on the screen and reads it again when it is back", async () => {
  server.on("GET", "/a", () => "before");
  await read("/a");
  server.on("GET", "/a", () => new TypeError("fetch failed"));
  await act(() => held.reload());
  await settle();
  assert.equal(screen.text, "before, loading", "the banner says so, the page does not");
  server.on("GET", "/a", () => "after");
  await act(() => connectionAnswered());
  await settle();
  assert.equal(screen.text, "after");
});

test("the clock reads without a sign of anybody being there, people with one", async () => {
  server.on("GET", "/a", () => "1").on("GET", "/a?peek=1", () => "2");
  await read("/a", 30);
  await pass(30_000);
  assert.equal(screen.text, "2");
  await act(() => held.reload());
  await settle();
  assert.deepEqual(
    server.asked.map(({ path }) => path),
    ["/a", "/a?peek=1", "/a"],
  );
});

test("an address that has a query already keeps it when the clock reads", async () => {
  server.on("GET", /^\/a\?x=1/, () => "1");
  await read("/a?x=1", 30);
  await pass(30_000);
  assert.equal(server.asked[1]!.path, "/a?x=1&peek=1");
});

test("what the clock could not read does not take the page's place", async () => {
  server.on("GET", /^\/a/, () => "good");
  await read("/a", 30);
  const next = later<unknown>();
  server.on("GET", /^\/a/, () => next.answer);
  await pass(30_000);
  assert.equal(held.error, null);
  assert.equal(held.data, "good");
});

test("an answer to a change takes the place of what was read", async () => {
  server.on("GET", "/a", () => "read");
  await read("/a");
  mock.timers.tick(5_000);
  await act(() => held.set("changed"));
  assert.equal(screen.text, "changed");
  assert.equal(held.readAt! % 1_000_000 > 0, true);
});
