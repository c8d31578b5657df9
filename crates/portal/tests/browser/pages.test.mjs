// Every page with a filled study: no serious fault of accessibility in light and dark, nothing that sticks out of a
// phone's, a tablet's or a large screen, nothing from elsewhere. With UPDATE_SCREENSHOTS set, pictures for the README.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, openPage, PORTAL, RITA, seriousFaults, signIn } from "./browser.mjs";
import { outOfPlace, outOfReach } from "./layout.mjs";
import { smaller } from "./smaller.mjs";
import { activate, beats, hoursOfLife, makeStudy, makeVoucher, setAlarms, sync, waveforms } from "./study.mjs";

const PEOPLE = [
  ["Ada", "Lind"], ["Bruno", "Keller"], ["Chiara", "Rossi"], ["David", "Novak"], ["Elena", "Petrova"], ["Farid", "Haddad"],
  ["Greta", "Holm"], ["Hugo", "Bernard"], ["Ines", "Costa"], ["Jonas", "Berg"], ["Kofi", "Mensah"], ["Lea", "Frei"],
];
/** How ill each of them is, so that the board has something of everything. */
const ILL = [0, 3.4, 0.4, 0, 1.6, 0.2, 0, 2.3, 0.6, 0, 0, 1];
/** Minutes since the last sync of each. */
const SILENT_MIN = [0, 0, 0, 47, 0, 0, 0, 0, 0, 190, 0, 0];

const MINUTE = 60_000;
const now = Math.floor(Date.now() / MINUTE) * MINUTE;
const pictures = process.env.UPDATE_SCREENSHOTS;
let browser, code, empty, ada, rawFrom;

before(async () => {
  browser = await launch();
  ({ code } = await makeStudy("Post-operative ward"));
  // Who has one study only is led to its board at once.
  empty = (await makeStudy("Sleep at home")).code;
  rawFrom = now - 25 * MINUTE;
  for (const [index, [first_name, last_name]] of PEOPLE.entries()) {
    const voucher = await makeVoucher(code);
    const person = { first_name, last_name, birthday: `19${50 + index}-03-14`, gender: index % 2 ? "male" : "female", height: 160 + index, weight: 58 + 2 * index };
    const token = await activate(voucher.code, person);
    const end = now - SILENT_MIN[index] * MINUTE;
    const device = { serial_number: `PW-0001${10 + index}`, device_type: "bracelet", firmware_version: "1.4.2", battery_level: 90 - 6 * index };
    await sync(token, hoursOfLife(end, index === 0 ? 26 : 8, ILL[index]), device);
    if (index > 0) continue;
    ada = voucher.uuid;
    await sync(token, { ...waveforms(rawFrom, 30), ...beats(now - 90 * MINUTE) });
    await setAlarms(ada, [{ vital: "nibp_systolic", below: 90, above: 180, for_s: 300 }]);
  }
  await makeVoucher(code);
});
after(() => browser?.close());

/** The pages, with what has to be there before one is looked at. */
const pages = () => [
  { name: "studies", path: "/", ready: "table" },
  { name: "board", path: `/studies/${code}`, ready: `[data-uuid="${ada}"] .news` },
  { name: "nobody-yet", path: `/studies/${empty}`, ready: ".empty" },
  { name: "wall", path: `/studies/${code}?wall=1`, ready: ".wall-tile" },
  { name: "patients", path: `/studies/${code}/patients`, ready: "table" },
  { name: "patient", path: `/studies/${code}/patients/${ada}`, ready: '[data-track="heart_rate"] canvas', height: 700 },
  { name: "raw", path: `/studies/${code}/patients/${ada}?from=${rawFrom + 4000}&to=${rawFrom + 8000}`, ready: '[data-track="ecg"] canvas' },
  { name: "record", path: `/studies/${code}/patients/${ada}/record`, ready: ".panel" },
  { name: "alarms", path: `/studies/${code}/patients/${ada}/record?part=alarms`, ready: ".alarm-row" },
  { name: "worn", path: `/studies/${code}/patients/${ada}/record?part=bracelet`, ready: ".panel" },
  { name: "erase", path: `/studies/${code}/patients/${ada}/record?part=erase`, ready: ".panel" },
  { name: "vouchers", path: `/studies/${code}/vouchers`, ready: "table" },
  { name: "compliance", path: `/studies/${code}/compliance?patient=${ada}`, ready: '[role="gridcell"]' },
  { name: "exports", path: `/studies/${code}/exports`, ready: "form" },
  { name: "study-settings", path: `/studies/${code}/settings`, ready: ".panel" },
  { name: "bracelets", path: "/bracelets", ready: "main .panel" },
  { name: "audit", path: "/audit", ready: "table" },
  { name: "settings", path: "/settings", ready: ".panel" },
  { name: "keys", path: "/settings?part=keys", ready: ".panel" },
  { name: "nowhere", path: "/nowhere", ready: "main" },
];

async function settled(page, ready) {
  await page.locator(ready).first().waitFor();
  await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
  await page.waitForTimeout(250);
}

test("every page is fit for a screen reader, in light and in dark", async () => {
  const faults = [];
  for (const colorScheme of ["light", "dark"]) {
    const { page, context, outside, errors } = await openPage(browser, { colorScheme });
    await page.goto(PORTAL);
    await page.getByLabel("E-mail").waitFor();
    faults.push(...(await seriousFaults(page)).map((fault) => `sign-in, ${colorScheme}: ${fault}`));
    if (colorScheme === "light") await picture(page, "sign-in");
    await signIn(page, RITA);
    await page.locator("#main").waitFor();
    for (const { name, path, ready, height } of pages()) {
      await page.goto(`${PORTAL}${path}`);
      await settled(page, ready);
      faults.push(...(await seriousFaults(page)).map((fault) => `${name}, ${colorScheme}: ${fault}`));
      if (colorScheme === "light" || name === "board") await picture(page, colorScheme === "light" ? name : `${name}-dark`, height);
    }
    assert.deepEqual(outside, []);
    assert.deepEqual(errors, []);
    await context.close();
  }
  assert.deepEqual(faults, []);
});

test("no page sticks out of a phone, a tablet or a large screen, and every button can be reached", async () => {
  const faults = [];
  for (const [width, height] of [[360, 740], [768, 1024], [820, 1180], [1024, 768], [2560, 1440]]) {
    const { page, context } = await openPage(browser, { viewport: { width, height } });
    await signIn(page, RITA);
    await page.locator("#main").waitFor();
    for (const { name, path, ready } of pages()) {
      await page.goto(`${PORTAL}${path}`);
      await settled(page, ready);
      const found = [...(await outOfPlace(page)), ...(await outOfReach(page))];
      faults.push(...found.map((fault) => `${name} at ${width}: ${fault}`));
      if (width === 360 && ["board", "patient"].includes(name)) await picture(page, `${name}-phone`);
    }
    await context.close();
  }
  assert.deepEqual(faults, []);
});

test("on a phone the score comes before the charts", async () => {
  const { page, context } = await openPage(browser, { viewport: { width: 360, height: 740 } });
  await signIn(page, RITA);
  await page.locator("#main").waitFor();
  await page.goto(`${PORTAL}/studies/${code}/patients/${ada}`);
  await settled(page, '[data-track="heart_rate"] canvas');
  const { bottom } = await page.locator(".news.big").evaluate((score) => score.getBoundingClientRect().toJSON());
  assert.ok(bottom < 740, `the score ends ${Math.round(bottom)} px below the top of a screen of 740`);
  await context.close();
});

test("a first visit leaves no error in the console, nor does any page after it", async () => {
  const { page, context, consoleErrors } = await openPage(browser);
  await page.goto(PORTAL);
  await page.getByLabel("E-mail").waitFor();
  assert.deepEqual(consoleErrors, [], "at the first visit");
  await signIn(page, RITA);
  await page.locator("#main").waitFor();
  for (const { path, ready } of pages()) {
    await page.goto(`${PORTAL}${path}`);
    await settled(page, ready);
  }
  assert.deepEqual(consoleErrors, []);
  await context.close();
});

async function picture(page, name, height = 720) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  const before = page.viewportSize();
  if (before.width > 400) await page.setViewportSize({ width: 1160, height });
  await page.waitForTimeout(400);
  const png = smaller(await page.screenshot());
  await page.setViewportSize(before);
  assert.ok(png.length <= 150 * 1024, `${name} weighs ${png.length} bytes`);
  writeFileSync(join(pictures, `${name}.png`), png);
}
