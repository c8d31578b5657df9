import "../../testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { enter, group, patient } from "../../testkit/people";
import { Screen, settle, textOf } from "../../testkit/screen";
import { later, refusal, Server } from "../../testkit/server";
import VouchersPage from "./page";

/** The patients of a study: listed by GET, made by POST. */
const LIST = /\/patients(\?|$)/;
let server: Server;
let screen: Screen;
let made = 0;

before(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] }));
after(() => mock.timers.reset());
beforeEach(async () => {
  server = new Server();
  made = 0;
  server.on("GET", "/integration/v1/groups", () => [group("ABCDE")]);
  server.on("GET", LIST, () => []);
  server.on("POST", LIST, () => ({ uuid: `u${(made += 1)}`, code: `CODE000${made}` }));
  server.on("PATCH", /patients\/u\d+$/, () => undefined);
  await enter(server);
  screen = new Screen(<VouchersPage params={{ code: "ABCDE" }} />);
  await settle();
});
afterEach(() => screen.leave());

const posts = () => server.of(LIST).filter(({ method }) => method === "POST").length;
const openDialog = () => screen.press("New vouchers");
const fillDialog = async (amount: string, identifiers = "") => {
  await openDialog();
  await screen.type("How many", amount);
  await screen.type("Your own identifiers", identifiers);
};

test("as many are made as are wanted, and the list is read again", async () => {
  await fillDialog("3");
  await screen.submit();
  assert.equal(posts(), 3);
  assert.equal(screen.all("dialog").length, 0);
  assert.equal(server.asked.filter(({ method, path }) => method === "GET" && LIST.test(path)).length, 2);
});

test("each identifier gets a voucher, in order and once", async () => {
  await fillDialog("10", "K-1\n K-2 \n\nK-1");
  assert.equal(screen.field("How many").value, "2");
  await screen.submit();
  assert.deepEqual(
    server.asked.filter(({ method }) => method === "PATCH").map(({ path, body }) => [path.split("/").pop(), body]),
    [
      ["u1", { external_patient_id: "K-1" }],
      ["u2", { external_patient_id: "K-2" }],
    ],
  );
});

test("an amount out of range disables the button, and a fraction is rounded down", async () => {
  for (const amount of ["", "0", "-3", "x", "501", "1e9"]) {
    await fillDialog(amount);
    assert.equal(screen.one<HTMLButtonElement>("dialog [type=submit]").disabled, true, amount);
    await screen.press("Cancel");
  }
  await fillDialog("2.9");
  assert.equal(textOf(screen.one("dialog [type=submit]")), "Make 2 vouchers");
});

test("429 is retried after Retry-After, and each voucher is made once", async () => {
  let refused = 0;
  server.on("POST", LIST, () =>
    made === 1 && (refused += 1) < 3
      ? refusal(429, "too_many_requests", { retryAfter: "10" })
      : { uuid: `u${(made += 1)}` },
  );
  await fillDialog("2");
  await screen.submit();
  assert.equal(textOf(screen.one("dialog [type=submit]")), "1 of 2");
  for (let turn = 0; turn < 2; turn += 1) {
    await act(() => mock.timers.tick(10_000));
    await settle();
  }
  assert.equal(made, 2);
  assert.equal(screen.all("dialog").length, 0);
});

test("when something fails, those that are made stay and are counted", async () => {
  server.on("POST", LIST, () => (made < 2 ? { uuid: `u${(made += 1)}` } : refusal(500, "internal")));
  await fillDialog("5");
  await screen.submit();
  assert.match(textOf(screen.one("dialog [role=alert]")), /^2 vouchers of 5 made, then: Something went wrong/);
  assert.equal(server.asked.filter(({ method, path }) => method === "GET" && LIST.test(path)).length, 2);
  assert.equal(screen.one<HTMLButtonElement>("dialog [type=submit]").disabled, false);
});

test("stopping keeps what is made and makes no more", async () => {
  const slow = later<unknown>();
  server.on("POST", LIST, () => slow.answer);
  await fillDialog("5");
  await screen.submit();
  await screen.press("Stop");
  await act(() => slow.come({ uuid: "u1" }));
  await settle();
  assert.equal(posts(), 1);
  assert.equal(screen.all("dialog").length, 0);
});

test("leaving the page ends the making, also after another sign-in", async () => {
  const slow = later<unknown>();
  server.on("POST", LIST, () => slow.answer);
  await fillDialog("5");
  await screen.submit();
  screen.draw(null);
  await enter(server, "ben");
  await act(() => slow.come({ uuid: "u1" }));
  await settle();
  assert.equal(posts(), 1);
});

test("open vouchers are listed and printed, used ones are not", async () => {
  server.on("GET", LIST, () => [
    patient("u1", { state: "pre_created", code: "AAAA1111", external_patient_id: "K-1" }),
    patient("u2", { state: "confirmed" }),
    patient("u3", { state: "pre_created", code: "BBBB2222" }),
  ]);
  screen.draw(<VouchersPage key="again" params={{ code: "ABCDE" }} />);
  await settle();
  assert.equal(screen.all("tbody tr").length, 2);
  await screen.press("Sheet with QR codes");
  assert.deepEqual(screen.all(".voucher-code").map(textOf), ["AAAA1111", "BBBB2222"]);
  assert.match(textOf(screen.one(".sheet")), /Study ABCDEAAAA1111For K-1/);
  await screen.press("Hide sheet");
  assert.equal(screen.all(".sheet").length, 0);
});

test("a study whose vouchers are all used says so, and who may not make any reads so", async () => {
  server.on("GET", LIST, () => [patient("u2")]);
  screen.draw(<VouchersPage key="again" params={{ code: "ABCDE" }} />);
  await settle();
  assert.match(screen.text, /Every voucher has been used/);
  await enter(server, "hcp", { role: "hcp" });
  screen.draw(<VouchersPage key="hcp" params={{ code: "ABCDE" }} />);
  const before = server.asked.length;
  await settle();
  assert.match(screen.text, /Vouchers are for researchers/);
  assert.equal(server.asked.slice(before).filter(({ path }) => LIST.test(path)).length, 0);
});

const NOW = Date.parse("2026-11-22T12:00:00Z");
const voucher = (uuid: string, code: string, created_at: string, expires_at: string) =>
  patient(uuid, {
    ...{ state: "pre_created", first_name: undefined, last_name: undefined, code },
    ...{ voucher_created_at: created_at, voucher_expires_at: expires_at },
  });
const two = () => [
  voucher("u1", "AAAA1111", "2026-11-19T12:00:00Z", "2027-02-17T12:00:00Z"),
  voucher("u2", "BBBB2222", "2026-08-20T12:00:00Z", "2026-11-18T12:00:00Z"),
];
const list = async (key: string, answering: () => unknown) => {
  mock.timers.setTime(NOW);
  server.on("GET", LIST, answering);
  screen.draw(<VouchersPage key={key} params={{ code: "ABCDE" }} />);
  await settle();
};
const rowOf = (code: string) => screen.all("tbody tr").find((row) => textOf(row).includes(code))!;

test("a voucher shows its age and its end, and one that has ended says so", async () => {
  await list("ends", two);
  assert.match(server.of(LIST).at(-1)!.path, /fields%5B%5D=voucher_expires_at/);
  assert.match(textOf(rowOf("AAAA1111")), /3 d ago.*17 Feb 2027/);
  assert.match(textOf(rowOf("BBBB2222")), /94 d ago.*Ended.*18 Nov 2026/);
  await screen.press("Sheet with QR codes");
  assert.deepEqual(screen.all(".voucher-code").map(textOf), ["AAAA1111"], "nobody can use the other");
});

test("a voucher is withdrawn after confirmation, and the list is read again", async () => {
  const left = two();
  server.on(
    "DELETE",
    /patients\/u1\?state=pre_created$/,
    () => (left.shift(), { uuid: "u1", erased_at: "", counts: {} }),
  );
  await list("withdraw", () => left);
  await screen.press("Withdraw voucher AAAA1111");
  assert.equal(server.asked.filter(({ method }) => method === "DELETE").length, 0, "not before the answer");
  assert.match(textOf(screen.one("dialog")), /AAAA1111/);
  await screen.press("Cancel");
  assert.equal(screen.all("dialog").length, 0);
  await screen.press("Withdraw voucher AAAA1111");
  await screen.submit();
  assert.deepEqual(
    server.asked.filter(({ method }) => method === "DELETE").map(({ path }) => path),
    ["/integration/v1/patients/u1?state=pre_created"],
  );
  assert.equal(screen.all("dialog").length, 0);
  assert.deepEqual(screen.all("tbody tr").length, 1);
});

test("a voucher that was used meanwhile is not withdrawn: a patient would be erased", async () => {
  let used = false;
  server.on("DELETE", /patients/, () => undefined);
  await list("used", () => (used ? [patient("u1"), two()[1]] : two()));
  await screen.press("Withdraw voucher AAAA1111");
  used = true;
  await screen.submit();
  assert.equal(server.asked.filter(({ method }) => method === "DELETE").length, 0);
  assert.match(textOf(screen.one("dialog [role=alert]")), /has been used/);
});

test("a wall display withdraws nothing and makes nothing", async () => {
  await enter(server, "wall", { wall_display: true });
  await list("wall", two);
  assert.equal(screen.all("button").filter((one) => /Withdraw|New vouchers/.test(one.outerHTML)).length, 0);
});
