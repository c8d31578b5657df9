// What goes wrong: a wrong password, a connection that is lost, a session that has ended, a study that is not one's own.

import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { after, before, test } from "node:test";
import { launch, openPage, PORTAL, RITA, signIn } from "./browser.mjs";
import { activate, api, makeStudy, makeVoucher, sync, vitals } from "./study.mjs";

const OTTO = { email: process.env.OTHER_EMAIL, password: process.env.OTHER_PASSWORD };
const now = Date.now();
let browser, study, token;

before(async () => {
  browser = await launch();
  study = await makeStudy("Refusals");
  token = await activate((await makeVoucher(study.code)).code, { first_name: "Ada", last_name: "Lind" });
  await sync(token, vitals(now - 60_000, { bpm: 64 }));
});
after(() => browser?.close());

test("a wrong password is refused, and does not say which of the two was wrong", async () => {
  const { page, context, errors } = await openPage(browser);
  for (const email of [RITA.email, "nobody@study.example"]) {
    await signIn(page, { email, password: "not the password" });
    const alert = page.getByRole("alert").filter({ hasText: /\S/ });
    await alert.waitFor();
    assert.equal((await alert.textContent()).trim(), "E-mail or password is not right.");
  }
  assert.equal((await context.cookies()).length, 0);
  assert.deepEqual(errors, []);
  await context.close();
});

/** A way to the service that can be cut. */
async function cuttableWay() {
  const target = new URL(PORTAL);
  const open = new Set();
  let cut = false;
  const server = createServer((client) => {
    if (cut) return client.destroy();
    const service = connect(Number(target.port), target.hostname);
    for (const [one, other] of [[client, service], [service, client]]) {
      open.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => (open.delete(one), other.destroy()));
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut: () => ((cut = true), open.forEach((socket) => socket.destroy())),
    mend: () => (cut = false),
    close: () => (open.forEach((socket) => socket.destroy()), server.close()),
  };
}

test("a lost connection is reported, keeps what is on the screen, and recovers by itself", async () => {
  const way = await cuttableWay();
  const { page, context, errors } = await openPage(browser, { baseURL: way.url });
  await signIn(page, RITA, `${way.url}/studies/${study.code}`);
  const heart = page.locator(".vital.heart .value");
  await heart.filter({ hasText: /^64$/ }).waitFor();
  await page.locator(".line-sign.live").waitFor();
  way.cut();
  await page.getByText("Connection lost.").waitFor();
  await page.locator(".line-sign.lost").waitFor();
  assert.equal(await heart.textContent(), "64", "what was read stays");
  await sync(token, vitals(Date.now(), { bpm: 88 }));
  way.mend();
  await heart.filter({ hasText: /^88$/ }).waitFor();
  await page.getByText("Connection lost.").waitFor({ state: "hidden" });
  await page.locator(".line-sign.live").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
  way.close();
});

test("signing out needs the server, and takes the other tabs along", async () => {
  const way = await cuttableWay();
  const board = `${way.url}/studies/${study.code}`;
  const { page, context, errors } = await openPage(browser, { baseURL: way.url });
  await signIn(page, RITA, board);
  await page.locator(".line-sign.live").waitFor();
  const other = await context.newPage();
  await other.goto(board);
  await other.getByText("Ada Lind").first().waitFor();
  way.cut();
  await page.locator("details.menu summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText(/Could not sign out: no connection/).waitFor();
  assert.ok((await page.getByText("Ada Lind").count()) > 0, "still signed in");
  way.mend();
  await page.getByText("Connection lost.").waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
  await other.getByText(/signed out in another tab/).waitFor();
  assert.equal(await other.getByText("Ada Lind").count(), 0, "nothing of a patient stays in the other tab");
  assert.deepEqual(errors, []);
  await context.close();
  way.close();
});

test("what cannot be read of an address is left out", async () => {
  const { page, context, errors } = await openPage(browser);
  const compliance = `${PORTAL}/studies/${study.code}/compliance`;
  await signIn(page, RITA, compliance);
  await page.getByRole("grid").waitFor();
  for (const query of ["?to=x", "?days=1e9", "?to=2026-02-31"]) {
    await page.goto(compliance + query);
    await page.getByRole("grid").waitFor();
  }
  assert.deepEqual(errors, []);
  await context.close();
});

test("an ended session leads to the sign-in and back", async () => {
  const { page, context, errors } = await openPage(browser);
  const board = `${PORTAL}/studies/${study.code}`;
  await signIn(page, RITA, board);
  await page.locator(".line-sign.live").waitFor();
  const { csrf_token } = await page.evaluate(async () => (await fetch("/portal/session?peek=1")).json());
  const [cookie] = await context.cookies();
  await api("DELETE", "/portal/session", undefined, { Cookie: `${cookie.name}=${cookie.value}`, "X-CSRF-Token": csrf_token });
  await page.getByRole("link", { name: "Patients", exact: true }).click();
  await page.getByText(/You were signed out/).waitFor();
  assert.equal(await page.getByText("Ada Lind").count(), 0, "nothing of a patient stays on the screen");
  await page.getByLabel("E-mail").fill(RITA.email);
  await page.getByLabel("Password").fill(RITA.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Ada Lind").first().waitFor();
  assert.match(page.url(), /\/patients$/, "back where one was");
  assert.deepEqual(errors, []);
  await context.close();
});

test("the cookie is out of reach of scripts and of other sites", async () => {
  const { page, context } = await openPage(browser);
  await signIn(page, RITA);
  await page.locator("#main").waitFor();
  const [cookie] = await context.cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, "Strict", "/"]);
  assert.equal(await page.evaluate(() => document.cookie), "");
  // Without the header of the page a change is refused, although the cookie comes along.
  const status = await page.evaluate(async () => (await fetch("/portal/api/keys", { method: "POST", body: "{}" })).status);
  assert.equal(status, 403);
  await context.close();
});

test("who is no member sees no patient", async () => {
  const { page, context, errors } = await openPage(browser);
  await signIn(page, OTTO);
  await page.getByText("There is no study yet").waitFor();
  for (const path of ["", "/patients", "/compliance"]) {
    await page.goto(`${PORTAL}/studies/${study.code}${path}`);
    await page.getByText(/no right/i).first().waitFor();
    assert.equal(await page.getByText("Ada Lind").count(), 0, path);
  }
  assert.deepEqual(errors, []);
  await context.close();
});
