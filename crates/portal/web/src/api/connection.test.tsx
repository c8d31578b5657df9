import "../testkit/browser";
import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { Screen, settle } from "../testkit/screen";
import { Server } from "../testkit/server";
import { connectionAnswered, connectionLost, useConnection, watchNetwork } from "./connection";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const server = new Server();
let away = false;
let screen: Screen;

function Sign() {
  const { lostSince, epoch } = useConnection();
  return <p>{lostSince === null ? `here ${epoch}` : `lost since ${(lostSince - NOW) / 1000} s`}</p>;
}

const pass = async (ms: number) => {
  await act(() => mock.timers.tick(ms));
  await settle();
};
const signsOfLife = () => server.of("/livez").length;
const network = (name: "online" | "offline") => act(() => void dispatchEvent(new Event(name)));

before(() => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: NOW });
  server.on("GET", "/livez", () => (away ? new TypeError("fetch failed") : "ok"));
  screen = new Screen(<Sign />);
  watchNetwork();
  connectionAnswered();
});
after(() => {
  screen.leave();
  mock.timers.reset();
});

test("one failed request is enough, and the time shown is that of the last answer", async () => {
  assert.equal(screen.text, "here 0");
  await pass(2_000);
  away = true;
  await act(() => connectionLost());
  assert.equal(screen.text, "lost since 0 s");
  await act(() => connectionLost());
  assert.equal(screen.text, "lost since 0 s", "a further failure does not move it");
});

test("the server is asked every three seconds, and an answer reads everything again", async () => {
  const before = signsOfLife();
  await pass(3_000);
  await pass(3_000);
  assert.equal(signsOfLife() - before, 2);
  assert.match(screen.text, /^lost/);
  away = false;
  await pass(3_000);
  assert.equal(screen.text, "here 1");
});

test("an answer to another call ends it at once, and the asking with it", async () => {
  away = true;
  await act(() => connectionLost());
  await act(() => connectionAnswered());
  assert.equal(screen.text, "here 2");
  const before = signsOfLife();
  away = false;
  await pass(4_000);
  assert.equal(signsOfLife(), before);
});

test("an answer of a proxy that says no is no sign that the service is back", async () => {
  server.on("GET", "/livez", () => new Response("bad gateway", { status: 502 }));
  await act(() => connectionLost());
  await pass(3_000);
  assert.match(screen.text, /^lost/);
  server.on("GET", "/livez", () => (away ? new TypeError("fetch failed") : "ok"));
  await pass(3_000);
  assert.match(screen.text, /^here/);
});

test("a network that comes and goes does not multiply the asking", async () => {
  away = true;
  await act(() => connectionLost());
  for (let turn = 0; turn < 5; turn += 1) {
    await network("online");
    await settle();
  }
  const before = signsOfLife();
  await pass(3_000);
  assert.equal(signsOfLife() - before, 1);
  away = false;
  await network("online");
  await settle();
  assert.match(screen.text, /^here/, "asked at once and not after the usual wait");
  const settled = signsOfLife();
  await pass(4_000);
  assert.equal(signsOfLife(), settled, "no asking is left over");
});

test("a page that asks for nothing asks for a sign of life, but not while there are answers", async () => {
  await pass(10_000);
  const before = signsOfLife();
  for (let turn = 0; turn < 3; turn += 1) {
    connectionAnswered();
    await pass(4_000);
  }
  const busy = signsOfLife() - before;
  await pass(30_000);
  const quiet = signsOfLife() - before - busy;
  assert.ok(busy <= 1, `${busy} while there were answers`);
  assert.ok(quiet >= 4 && quiet <= 6, `${quiet} within half a minute`);
});

test("a page that nobody sees asks for nothing", async () => {
  Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
  const before = signsOfLife();
  await pass(60_000);
  assert.equal(signsOfLife(), before);
  Object.defineProperty(document, "visibilityState", { value: "visible", configurable: true });
});

test("a sign of life that does not come means that the connection is lost", async () => {
  away = true;
  await pass(10_000);
  assert.match(screen.text, /^lost/);
  away = false;
  await pass(3_000);
  assert.match(screen.text, /^here/);
});

test("the browser's own word that it is offline counts", async () => {
  await network("offline");
  assert.match(screen.text, /^lost/);
  await act(() => connectionAnswered());
});
