import "../../testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { signIn, signOut } from "../../api/session";
import type { ListedExport } from "../../api/types";
import { withoutStorage } from "../../testkit/browser";
import { Screen, settle } from "../../testkit/screen";
import { later, refusal, Server } from "../../testkit/server";
import type { ExportWish } from "./jobs";
import { type Exports, useExports } from "./use_exports";

const WISH: ExportWish = { types: ["activity"], client_date_from: "a", client_date_to: "b", format: "csv" };
let server: Server;
let screen: Screen;
let exports: Exports;
let turn = 0;
/** What the service has of the exports of each study, newest first. */
let kept: Record<string, ListedExport[]> = {};

function Page({ code = "ABCDE" }: { code?: string }) {
  exports = useExports(code);
  return (
    <p>{exports.jobs.map(({ uuid, state, error }) => `${uuid} ${state}${error ? ` (${error})` : ""}`).join("; ")}</p>
  );
}

const pass = async (ms: number) => {
  for (let passed = 0; passed < ms; passed += 250) {
    await act(() => mock.timers.tick(250));
    await settle();
  }
};
const enter = async (uuid: string) => {
  server.on("POST", "/portal/session", () => ({ csrf_token: "t", account: { uuid, email: uuid, role: "researcher" } }));
  await act(() => signIn({ email: "", password: "" }));
};
const leave = async () => {
  server.on("DELETE", "/portal/session", () => undefined);
  await act(() => signOut());
};
/** The service begins an export, and keeps it in its list. */
const begins = (id: string, status: ListedExport["status"] = "in_progress", study = "ABCDE") =>
  server.on("POST", /create-export/, ({ path }) => {
    const uuid = path.split("/").pop()!;
    const row = { ...WISH, id, patient: uuid, status, created_at: new Date(Date.now()).toISOString() };
    kept[study] = [row, ...(kept[study] ?? [])];
    return { id, status: "in_progress" };
  });
const becomes = (id: string, change: Partial<ListedExport>) => {
  for (const rows of Object.values(kept)) for (const row of rows) if (row.id === id) Object.assign(row, change);
};
const lists = () => server.of(/exports\?group=/).length;
const want = (...uuids: string[]) => act(() => exports.want(uuids, WISH));
const begun = () => server.of(/create-export/).map(({ path }) => path.split("/").pop());

before(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1_000_000 }));
after(() => mock.timers.reset());
beforeEach(async () => {
  sessionStorage.clear();
  server = new Server();
  kept = {};
  server.on("GET", /exports\?group=/, ({ path }) => kept[path.split("=").pop()!] ?? []);
  await enter(`person ${(turn += 1)}`);
  screen = new Screen(<Page />);
});
afterEach(async () => {
  screen.leave();
  await leave();
});

test("an export is begun, asked after and ready", async () => {
  begins("e1");
  await want("u1");
  assert.equal(screen.text, "u1 waiting");
  await pass(500);
  assert.equal(screen.text, "u1 in_progress");
  assert.deepEqual(server.of(/create-export/)[0]!.body, WISH);
  becomes("e1", { status: "done" });
  await pass(3_500);
  assert.equal(screen.text, "u1 done");
  const asked = server.asked.length;
  await pass(10_000);
  assert.equal(server.asked.length, asked, "nothing more is asked of what is ready");
});

test("exports of another browser or program are listed, newest first", async () => {
  const of = (id: string, created_at: string) => ({ ...WISH, id, patient: id, status: "done" as const, created_at });
  kept = { ABCDE: [of("u1", "2026-11-21T08:00:00.000Z"), of("u2", "2026-11-22T08:00:00.000Z")], OTHER: [] };
  screen.draw(null);
  screen.draw(<Page />);
  await pass(500);
  assert.equal(screen.text, "u2 done; u1 done");
  assert.equal(
    sessionStorage.getItem(`pulseward-exports-person ${turn}`),
    null,
    "the browser remembers nothing of them",
  );
  screen.draw(<Page code="OTHER" />);
  await pass(500);
  assert.equal(screen.text, "");
});

test("one that has failed says why", async () => {
  begins("e1");
  await want("u1");
  await pass(1_000);
  becomes("e1", { status: "failed", error: "the disk is full" });
  await pass(4_000);
  assert.equal(screen.text, "u1 failed (the disk is full)");
});

test("a list that was asked for before an export was begun does not take it away", async () => {
  const slow = later<unknown>();
  screen.draw(null);
  server.on("GET", /exports\?group=/, () => slow.answer);
  screen.draw(<Page />);
  begins("e1");
  await want("u1");
  await pass(500);
  await act(() => slow.come([]));
  await settle();
  assert.equal(screen.text, "u1 in_progress");
});

test("one that comes too soon waits as long as the server asks for", async () => {
  server.on("POST", /create-export/, () => refusal(429, "too_many_requests", { retryAfter: "60" }));
  await want("u1");
  await pass(1_000);
  assert.equal(screen.text, "u1 waiting");
  await pass(50_000);
  assert.equal(begun().length, 1);
  begins("e1", "done");
  await pass(15_000);
  assert.equal(screen.text, "u1 done");
});

test("a service that is busy for a moment does not fail an export", async () => {
  server.on("POST", /create-export/, () => refusal(503, "busy", { retryAfter: "2" }));
  await want("u1");
  await pass(1_000);
  assert.equal(screen.text, "u1 waiting");
  begins("e1", "done");
  await pass(6_000);
  assert.equal(screen.text, "u1 done");
});

test("a lost connection fails nothing, a refusal does", async () => {
  server.on("GET", "/livez", () => new TypeError("fetch failed"));
  server.on("POST", /create-export/, () => new TypeError("fetch failed"));
  await want("u1");
  await pass(10_000);
  assert.equal(screen.text, "u1 waiting");
  server.on("POST", /create-export/, () => refusal(403, "forbidden", { message: "not a member" }));
  await pass(4_000);
  assert.equal(screen.text, "u1 failed (You have no right to do this (not a member).)");
});

test("an archive that was cleared away is off the list and not asked after for ever", async () => {
  begins("e1");
  await want("u1");
  await pass(1_000);
  kept = {};
  await pass(4_000);
  assert.equal(screen.text, "");
  const before = lists();
  await pass(10_000);
  assert.equal(lists(), before);
});

test("many are begun one after the other and asked after by one list", async () => {
  server.on("POST", /create-export/, ({ path }) => ({ id: path.split("/").pop(), status: "in_progress" }));
  server.on("GET", /exports\?group=/, () =>
    begun().map((id) => ({ ...WISH, id, patient: id, status: "in_progress", created_at: "2026-11-22T08:00:00.000Z" })),
  );
  const uuids = Array.from({ length: 10 }, (_, index) => `u${index}`);
  await want(...uuids);
  await pass(10_000);
  assert.deepEqual(begun(), uuids);
  const before = lists();
  await pass(3_000);
  assert.ok(lists() - before <= 1, "one within three seconds");
});

test("they go on while another page is shown, and are there when one comes back", async () => {
  begins("e1");
  await want("u1");
  screen.draw(null);
  await pass(1_000);
  becomes("e1", { status: "done" });
  await pass(4_000);
  screen.draw(<Page />);
  await settle();
  assert.equal(screen.text, "u1 done");
});

test("a study shows its own, and a wish that is taken off the list is gone", async () => {
  server.on("POST", /create-export/, () => refusal(429, "too_many_requests", { retryAfter: "60" }));
  await want("u1");
  await pass(500);
  screen.draw(<Page code="OTHER" />);
  await settle();
  assert.equal(screen.text, "");
  screen.draw(<Page />);
  await settle();
  await act(() => exports.forget(exports.jobs[0]!.key));
  assert.equal(screen.text, "");
});

test("what one person has wanted is not begun in the name of the next", async () => {
  server.on("POST", /create-export/, () => refusal(429, "too_many_requests", { retryAfter: "30" }));
  await want("u1");
  await pass(1_000);
  screen.draw(null);
  await leave();
  await enter("somebody else");
  begins("e1", "done");
  const before = begun().length;
  await pass(60_000);
  assert.equal(begun().length, before);
  screen.draw(<Page />);
  await settle();
  assert.equal(screen.text, "");
});

test("nothing is begun while nobody is signed in, and it goes on for the same person", async () => {
  const me = `person ${turn}`;
  server.on("POST", /create-export/, () => refusal(429, "too_many_requests", { retryAfter: "30" }));
  await want("u1");
  await pass(1_000);
  screen.draw(null);
  await leave();
  server.on("POST", /create-export/, () => refusal(401, "session_expired"));
  const before = begun().length;
  await pass(60_000);
  assert.equal(begun().length, before);
  await enter(me);
  begins("e1", "done");
  screen.draw(<Page />);
  await pass(1_000);
  assert.equal(screen.text, "u1 done");
});

test("a session that ends just then fails no export", async () => {
  const me = `person ${turn}`;
  server.on("POST", /create-export/, () => refusal(401, "session_expired"));
  server.on("GET", "/portal/session", () => refusal(401, "session_expired"));
  await want("u1");
  await pass(500);
  screen.draw(null);
  await enter(me);
  begins("e1", "done");
  screen.draw(<Page />);
  await pass(1_000);
  assert.equal(screen.text, "u1 done");
});

test("an answer that comes after its person has left is theirs", async () => {
  const me = `person ${turn}`;
  const slow = later<unknown>();
  server.on("POST", /create-export/, () => slow.answer);
  await want("u1");
  await pass(500);
  screen.draw(null);
  await leave();
  await enter("somebody else");
  screen.draw(<Page />);
  await act(() => slow.come({ id: "e1", status: "in_progress" }));
  await pass(1_000);
  assert.equal(screen.text, "");
  screen.draw(null);
  await leave();
  await enter(me);
  kept = {
    ABCDE: [{ ...WISH, id: "e1", patient: "u1", status: "done", created_at: new Date(Date.now()).toISOString() }],
  };
  screen.draw(<Page />);
  await pass(1_000);
  assert.equal(screen.text, "u1 done");
  assert.equal(begun().length, 1);
});

test("what the browser remembers and cannot be read is as if there were nothing", async () => {
  for (const text of ["", "{", "null", '{"a":1}', '"text"']) {
    screen.draw(null);
    await leave();
    sessionStorage.setItem("pulseward-exports-p", text);
    await enter("p");
    screen.draw(<Page />);
    await settle();
    await want("u1");
    assert.equal(screen.text, "u1 waiting", text);
  }
});

test("a browser without storage exports all the same", async () => {
  await withoutStorage("sessionStorage", async () => {
    begins("e1", "done");
    await want("u1");
    await pass(500);
    assert.equal(screen.text, "u1 done");
  });
});
