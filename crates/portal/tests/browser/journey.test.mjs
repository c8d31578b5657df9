// The way of a researcher from the sign-in to the audit log, with a patient who joins meanwhile.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch, openPage, RITA, signIn } from "./browser.mjs";
import { activate, api, hoursOfLife, sync, vitals, waveforms } from "./study.mjs";
import { unzip } from "./unzip.mjs";

const MINUTE = 60_000;
let browser, page, outside, errors;
let code, voucher, uuid, token;
const now = Math.floor(Date.now() / MINUTE) * MINUTE;

before(async () => {
  browser = await launch();
  ({ page, outside, errors } = await openPage(browser));
});
after(() => browser?.close());

const row = () => page.locator(`[data-uuid="${uuid}"]`);

test("signs in and makes a study and a voucher", async () => {
  await signIn(page, RITA);
  await page.getByRole("button", { name: "New study" }).click();
  await page.getByLabel("Name").fill("Sleep after surgery");
  await page.getByRole("button", { name: "Make study" }).click();
  await page.waitForURL(/\/studies\/[A-Z]{5}\/vouchers$/);
  code = /studies\/([A-Z]{5})/.exec(page.url())[1];
  await page.getByRole("button", { name: "New vouchers" }).first().click();
  await page.getByLabel("How many").fill("1");
  await page.getByRole("button", { name: "Make 1 voucher" }).click();
  voucher = await page.getByRole("cell").locator("code.strong").first().textContent();
  assert.match(voucher, /^[A-HJ-NP-Z2-9]{8}$/);
});

test("sees how old a voucher is and when it ends, and withdraws one", async () => {
  await page.getByRole("button", { name: "New vouchers" }).click();
  await page.getByLabel("How many").fill("1");
  await page.getByRole("button", { name: "Make 1 voucher" }).click();
  const rows = page.locator("tbody tr");
  await rows.nth(1).waitFor();
  const other = rows.filter({ hasNotText: voucher });
  assert.match(await other.textContent(), /now.*\d{1,2} \w{3} 20\d\d/);
  await other.getByRole("button", { name: /^Withdraw voucher/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
  await page.getByText("Voucher withdrawn", { exact: true }).waitFor();
  await rows.nth(1).waitFor({ state: "detached" });
  assert.ok((await rows.first().textContent()).includes(voucher));
  await page.getByRole("link", { name: "Patients", exact: true }).click();
  await page.getByText("Nobody has begun yet").waitFor();
  assert.equal((await page.locator("#main").innerHTML()).includes(voucher), false, "the code is with the vouchers alone");
  await page.goBack();
});

test("sees the board change when the patient joins and syncs", async () => {
  await page.getByRole("link", { name: "Board", exact: true }).click();
  // A voucher is no patient; the page listens all the same.
  await page.getByText("Nobody is in this study yet", { exact: true }).waitFor();
  token = await activate(voucher, { first_name: "Ada", last_name: "Lind" });
  ({ uuid } = (await api("GET", `/integration/v1/groups/${code}/patients`, undefined, { "X-Api-Key": process.env.PORTAL_KEY }))[0]);
  await sync(token, vitals(now - MINUTE, { bpm: 72 }));
  await row().locator(".vital.heart .value", { hasText: /^72$/ }).waitFor();
  await page.getByText("Connected", { exact: true }).waitFor();
  assert.match(await row().textContent(), /Ada Lind/);

  const sent = Date.now();
  await sync(token, vitals(now, { bpm: 134, resp: 26, spo2: 91, temp: 39.2 }));
  await row().locator(".vital.heart .value", { hasText: /^134$/ }).waitFor();
  await row().locator(".news.high", { hasText: "High" }).waitFor();
  console.log(`the board showed the sync after ${Date.now() - sent} ms`);
});

test("reads a day and zooms to single samples", async () => {
  await sync(token, { ...hoursOfLife(now - 2 * MINUTE, 20), ...waveforms(now - 40 * MINUTE, 60) });
  await row().getByRole("link").click();
  await page.getByRole("heading", { name: "Ada Lind" }).waitFor();
  await page.locator('[data-track="heart_rate"] canvas').waitFor();
  await page.getByText("In words", { exact: true }).click();
  await page.getByText(/^Heart rate: lowest \d+ \/min at (about )?\d\d:\d\d/).waitFor();
  assert.match(await page.locator(".gap-legend").textContent(), /charging|not worn/);

  // A minute of the raw signals, then a second.
  await page.goto(`${page.url().split("?")[0]}?from=${now - 40 * MINUTE}&to=${now - 39 * MINUTE}`);
  await page.locator('[data-track="ecg"] canvas').waitFor();
  const answer = page.waitForResponse((response) => response.url().includes("ecg.ecg") && response.url().includes("/series"));
  await page.getByRole("button", { name: "1 s", exact: true }).click();
  const { series, from, to } = await (await answer).json();
  assert.equal(to - from, 1000);
  const ecg = series.find(({ type }) => type === "ecg");
  assert.equal(ecg.raw, true);
  assert.ok(Math.abs(ecg.t.length - 256) <= 1, `${ecg.t.length} samples in a second of 256 Hz`);
  await page.getByText("In words", { exact: true }).click();
  await page.getByText(/^ECG: lowest .* at \d\d:\d\d:\d\d\.\d{3}/).waitFor();

  // Back undoes a zoom, and only the zoom.
  await page.goBack();
  await page.locator(".range-words", { hasText: "1 min" }).waitFor();
  await page.goForward();

  // By keys: out twice, and back to the day.
  await page.locator(".charts-body").focus();
  await page.keyboard.press("-");
  await page.locator(".range-words", { hasText: "2 s" }).waitFor();
  await page.keyboard.press("0");
  await page.waitForURL((url) => !url.searchParams.has("from"));
});

test("drags over a chart: back undoes it, and no line is left behind", async () => {
  // Soon after midnight the middle of the day is still to come, and has no tracks once it is zoomed to.
  const date = new Date(now - 10 * 60 * MINUTE).toISOString().slice(0, 10);
  await page.goto(`${page.url().split("?")[0]}?date=${date}`);
  const plot = page.locator('[data-track="heart_rate"] .u-over');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  const [from, to, y] = [box.x + box.width * 0.3, box.x + box.width * 0.8, box.y + box.height / 2];
  await page.mouse.move(from, y);
  await page.mouse.down();
  await page.mouse.move(to, y, { steps: 8 });
  await page.mouse.up();
  await page.waitForURL((url) => url.searchParams.has("from"));
  await page.waitForTimeout(300);
  const lines = () =>
    page.locator(".u-cursor-x").evaluateAll((all) => all.filter((line) => !line.classList.contains("u-off") && line.getBoundingClientRect().left > 0 && !/-10px/.test(line.style.transform)).length);
  assert.equal(await lines(), 0, "after the drag");
  // The charts are drawn again when the rows of the zoomed range arrive, and that may be between two movements.
  let shown = 0;
  for (let movement = 0; shown < 2 && movement < 100; movement += 1) {
    await page.mouse.move(from + (movement % 2) * 5, y + 5);
    shown = await lines();
    await page.waitForTimeout(50);
  }
  assert.ok(shown > 1, "where the pointer moves it is there again, in all tracks");
  await page.goBack();
  await page.waitForURL((url) => !url.searchParams.has("from"));
  assert.match(page.url(), /\/patients\//);
});

test("exports the day and opens the archive", async () => {
  await page.getByRole("link", { name: "Exports", exact: true }).click();
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const ready = page.getByRole("button", { name: "Download", exact: true });
  await ready.waitFor({ timeout: 60_000 });
  const [download] = await Promise.all([page.waitForEvent("download"), ready.click()]);
  const files = unzip(readFileSync(await download.path()));
  const activity = [...files].find(([name]) => name.endsWith("activity.csv"));
  assert.ok(activity, [...files.keys()].join(" "));
  const lines = activity[1].toString().trimEnd().split("\n");
  assert.ok(lines.length > 1000 && lines[0].includes("bpm"), lines[0]);
  assert.ok(lines.some((line) => line.includes(`${now}`) && line.includes("134")), "the sync of the journey is in it");
});

test("makes a key, uses it, revokes it", async () => {
  await page.goto(`${new URL(page.url()).origin}/settings?part=keys`);
  await page.getByRole("button", { name: "New API key" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("Notebook");
  await page.getByRole("button", { name: "Make key" }).click();
  const key = await page.locator(".secret code").first().textContent();
  assert.match(key, /^pwk_/);
  const groups = () => api("GET", "/integration/v1/groups", undefined, { "X-Api-Key": key });
  assert.ok((await groups()).some((group) => group.code === code));
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("button", { name: "Revoke Notebook" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Revoked", { exact: true }).waitFor();
  await assert.rejects(groups, /401/);
});

test("finds it all in the audit log", async () => {
  await page.getByRole("link", { name: "Audit log" }).click();
  for (const action of ["Signed in", "Study made", "Patient enrolled", "Exported in the portal"]) {
    await page.getByRole("cell", { name: action }).first().waitFor();
  }
});

test("nothing came from elsewhere, and no script failed", () => {
  assert.deepEqual(outside, []);
  assert.deepEqual(errors, []);
});
