import "./testkit/browser";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { act } from "preact/test-utils";
import { signIn } from "./api/session";
import type { Group, Patient } from "./api/types";
import { type Names, useNames } from "./names";
import { reloadStudies, useStudies, useStudy } from "./studies";
import { Screen, settle } from "./testkit/screen";
import { later, refusal, Server } from "./testkit/server";

let server: Server;
let names: Names;

const group = (code: string) => ({ code, name: `Study ${code}`, id: `id-${code}` }) as Group;
const session = (uuid: string) => ({
  csrf_token: "t",
  account: { uuid, email: `${uuid}@b.example`, role: "researcher" },
});
const enter = async (uuid: string) => {
  server.on("POST", "/portal/session", () => session(uuid));
  await act(() => signIn({ email: "", password: "" }));
};

function List() {
  const { groups, error } = useStudies();
  const one = useStudy("A");
  return (
    <p>
      {error ? "failed" : groups ? `${groups.map(({ code }) => code).join(",")} of ${one?.name ?? "none"}` : "reading"}
    </p>
  );
}

function Called() {
  names = useNames();
  return null;
}

beforeEach(async () => {
  server = new Server();
  await enter("nobody");
  await enter("ada");
});

test("the studies are read once for all who ask", async () => {
  server.on("GET", "/integration/v1/groups", () => [group("A"), group("B")]);
  const screen = new Screen([<List />, <List />]);
  assert.equal(screen.text, "readingreading");
  await settle();
  assert.equal(screen.text, "A,B of Study AA,B of Study A");
  screen.draw([<List />, <List />, <List />]);
  await settle();
  assert.equal(server.of(/groups$/).length, 1);
  screen.leave();
});

test("of several readings the last one counts, whichever comes first", async () => {
  const slow = later<Group[]>();
  server.on("GET", "/integration/v1/groups", () => slow.answer);
  const screen = new Screen(<List />);
  await settle();
  server.on("GET", "/integration/v1/groups", () => [group("A"), group("NEW")]);
  await act(() => reloadStudies());
  await settle();
  assert.equal(screen.text, "A,NEW of Study A");
  await act(() => slow.come([group("OLD")]));
  await settle();
  assert.equal(screen.text, "A,NEW of Study A");
  screen.leave();
});

test("a failed reading leaves what was read, and the next page tries again", async () => {
  server.on("GET", "/integration/v1/groups", () => [group("B")]);
  const screen = new Screen(<List />);
  await settle();
  server.on("GET", "/integration/v1/groups", () => refusal(500, "internal"));
  await act(() => reloadStudies());
  await settle();
  assert.equal(screen.text, "failed");
  server.on("GET", "/integration/v1/groups", () => [group("C")]);
  screen.draw([<List key="next" />]);
  await settle();
  assert.equal(screen.text, "C of none");
  screen.leave();
});

test("the studies of one person are not those of the next", async () => {
  server.on("GET", "/integration/v1/groups", () => [group("A")]);
  const screen = new Screen(<List />);
  await settle();
  screen.leave();
  await enter("ben");
  server.on("GET", "/integration/v1/groups", () => new Promise(() => {}));
  const next = new Screen(<List />);
  await settle();
  assert.equal(next.text, "reading");
  next.leave();
});

test("ids are called by the names that the studies know", async () => {
  const patient = { uuid: "11111111-2222", first_name: "Ada", last_name: "B" } as Patient;
  server
    .on("GET", "/integration/v1/groups", () => [group("A"), group("B")])
    .on("GET", /groups\/A\/patients/, () => [patient])
    .on("GET", /groups\/B\/patients/, () => refusal(403, "forbidden"))
    .on("GET", /hcps$/, () => [{ uuid: "h", email: "hcp@b.example" }])
    .on("GET", /bracelets$/, () => [{ id: "b", serial_number: "SN-1" }]);
  const screen = new Screen(<Called />);
  await settle();
  assert.deepEqual(
    ["11111111-2222", "h", "b", "id-A", "ada"].map((id) => names.of(id)),
    ["Ada B", "hcp@b.example", "SN-1", "Study A", "ada@b.example"],
  );
  assert.equal(names.studyOf("11111111-2222"), "A");
  assert.equal(names.studyOf("h"), null);
  screen.leave();
});

test("an id that nobody knows is its beginning, a short one itself", async () => {
  server.on("GET", "/integration/v1/groups", () => []).on("GET", /bracelets$/, () => new TypeError("fetch failed"));
  const screen = new Screen(<Called />);
  await settle();
  assert.equal(names.of("80876de9-4e89-449a"), "80876de9…");
  assert.equal(names.of("SN-1"), "SN-1");
  assert.deepEqual([names.isKnown("SN-1"), names.isKnown("ada")], [false, true]);
  screen.leave();
});

test("no more than twenty studies are searched for names", async () => {
  const many = Array.from({ length: 30 }, (_, index) => group(`G${index}`));
  server.on("GET", "/integration/v1/groups", () => many).on("GET", /patients|hcps|bracelets/, () => []);
  const screen = new Screen(<Called />);
  await settle();
  assert.equal(server.of(/patients/).length, 20);
  assert.equal(names.of("id-G29"), "Study G29", "a study is named all the same");
  screen.leave();
});
