// How heavy and how quick the portal is, in headless Chromium, against limits: the weight of the pages, a board of a
// thousand patients, a chart of 24 hours with three signals, a zoom.
//
//   npm ci --prefix crates/portal/tests/browser
//   node crates/portal/benchmarks/portal.mjs [target/release/pulseward] [patients]
//
// Starts the program on an empty folder, enrols the patients through the API, prints figures, ends with status 1 when a
// limit is broken. Enrolling hashes a password for every patient, so a thousand take some minutes.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [program = "target/release/pulseward", patients = "1000"] = process.argv.slice(2);
const COUNT = Number(patients);
const PASSWORD = "a password for tests";
const EMAIL = "rita@study.example";
const RUNS = 5;
/** Name of the patient whose chart is drawn. */
const CHARTED = "Charted";
const SECOND = 1000;
const HOUR = 3_600_000;

const data = mkdtempSync(join(tmpdir(), "pulseward-benchmark-"));
const admin = (...words) => JSON.parse(execFileSync(program, ["admin", ...words, "--data", data, "--json"], { encoding: "utf8" }));
execFileSync(program, ["migrate", "--data", data]);
admin("create-account", "--email", EMAIL, "--role", "researcher", "--password", PASSWORD);
const key = admin("create-api-key", "--account", EMAIL).token;
const service = spawn(program, ["serve", "--data", data, "--listen", "127.0.0.1:0", "--rate-limit", "off"], { stdio: ["ignore", "ignore", "pipe"] });
const url = await new Promise((found) => {
  createInterface({ input: service.stderr }).on("line", (line) => line.startsWith("listening on ") && found(line.slice(13)));
});

// The helpers of the tests read where the portal is when they are loaded.
Object.assign(process.env, { PORTAL_URL: url, PORTAL_KEY: key, PORTAL_EMAIL: EMAIL, PORTAL_PASSWORD: PASSWORD });
process.env.CHROMIUM ??= "/usr/bin/chromium";
const { launch, openPage } = await import("../tests/browser/browser.mjs");
const { activate, hoursOfLife, makeStudy, makeVoucher, sync } = await import("../tests/browser/study.mjs");

const figures = [];
const note = (what, values, limit, unit) => {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted[Math.floor(sorted.length / 2)];
  figures.push({ what, median: Math.round(middle), worst: Math.round(sorted.at(-1)), limit, unit, kept: middle <= limit });
};

try {
  const { code } = await makeStudy("Benchmark");
  const now = Math.floor(Date.now() / SECOND) * SECOND;
  const first = await enrol(code, now);
  await measure(code, first);
} finally {
  service.kill();
  rmSync(data, { recursive: true, force: true });
}

console.table(figures);
process.exitCode = figures.every(({ kept }) => kept) ? 0 : 1;

/** Enrols everybody, eight at a time; the first gets a day with a row every ten seconds. */
async function enrol(code, now) {
  let first;
  let next = 0;
  const work = async () => {
    while (next < COUNT) {
      const index = next++;
      const voucher = await makeVoucher(code);
      const token = await activate(voucher.code, { first_name: "Patient", last_name: index === 0 ? CHARTED : String(index) });
      await sync(token, hoursOfLife(now - index * 50, 2, (index % 9) / 3));
      if (index > 0) continue;
      first = voucher.uuid;
      for (let hour = 24; hour > 0; hour -= 1) await sync(token, { activity: tenSeconds(now - hour * HOUR, HOUR) });
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return first;
}

/** Three signals every ten seconds. */
function tenSeconds(from, length) {
  const timestamp = Array.from({ length: length / (10 * SECOND) }, (_, index) => from + index * 10 * SECOND);
  const wave = (period, at) => Math.sin((2 * Math.PI * at) / (period * 60 * SECOND));
  const bpm = timestamp.map((at) => Math.round(70 + 9 * wave(190, at) + 4 * wave(3, at)));
  const respiration_rate = timestamp.map((at) => Math.round(10 * (15 + 2 * wave(95, at) + wave(2, at))) / 10);
  const spo2 = timestamp.map((at) => Math.round(97 + wave(80, at)));
  return { timestamp, bpm, respiration_rate, spo2, bpm_q: 4, resp_q: 4, spo2_q: 4, wearing: 4 };
}

async function measure(code, first) {
  const browser = await launch();
  const runs = { board: [], signIn: [], chart: [], zoom: [], frame: [] };
  for (let run = 0; run < RUNS; run += 1) {
    const { page, context } = await openPage(browser);
    const weighed = await weigh(page);
    await page.goto(`${url}/studies/${code}`);
    await page.getByLabel("E-mail").fill(EMAIL);
    await page.getByLabel("Password").fill(PASSWORD);
    const answered = page.waitForResponse((response) => response.url().endsWith("/portal/session") && response.request().method() === "POST");
    await watch(page, ".board-body [data-uuid]");
    const clicked = performance.now();
    await page.getByRole("button", { name: "Sign in" }).click();
    await answered;
    const signedIn = performance.now();
    await seen(page);
    runs.board.push(performance.now() - signedIn);
    runs.signIn.push(performance.now() - clicked);
    runs.frame.push(await slowestFrame(page));

    await page.getByRole("searchbox").fill(CHARTED);
    const link = page.locator(`[data-uuid="${first}"] a`);
    await link.waitFor();
    runs.chart.push(await timed(page, link, '.charts[aria-busy="false"] [data-track="spo2"] canvas'));
    for (const name of ["6 h", "1 h"]) {
      runs.zoom.push(await timed(page, page.getByRole("button", { name, exact: true }), '.charts[aria-busy="false"]', true));
    }
    if (run === 0) note("all pages that were loaded, compressed", [weighed() / 1024], 150, "KB");
    await context.close();
  }
  note(`board of ${COUNT} after the sign-in's answer`, runs.board, 1000, "ms");
  note("the same from the click, password and all", runs.signIn, 2000, "ms");
  note("slowest frame while scrolling the board", runs.frame, 100, "ms");
  note("chart of 24 h drawn after the click", runs.chart, 300, "ms");
  note("zoom drawn after the click", runs.zoom, 150, "ms");
  await browser.close();
}

/** Sums what the pages themselves weigh on the wire; the data of the API are not counted. */
async function weigh(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const counted = new Set();
  let bytes = 0;
  session.on("Network.responseReceived", ({ requestId, type }) => {
    if (["Document", "Script", "Stylesheet", "Image"].includes(type)) counted.add(requestId);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (counted.has(requestId)) bytes += encodedDataLength;
  });
  return () => bytes;
}

/** Notes, inside the page, the first frame in which something is there. */
function watch(page, selector) {
  return page.evaluate((wanted) => {
    window.seenAt = new Promise((found) => {
      const look = () => (document.querySelector(wanted) ? requestAnimationFrame(() => found(performance.now())) : requestAnimationFrame(look));
      look();
    });
  }, selector);
}

function seen(page) {
  return page.evaluate(() => window.seenAt);
}

/** Milliseconds inside the page from a click to the frame in which something is there and drawn. */
async function timed(page, target, selector, afterBusy = false) {
  await target.evaluate((element, [wanted, busyFirst]) => {
    window.took = new Promise((found) => {
      element.addEventListener(
        "click",
        () => {
          const begin = performance.now();
          let armed = !busyFirst;
          // Data that come quickly leave no frame in which the charts are seen waiting.
          const arm = () => (armed ||= document.querySelector('.charts[aria-busy="true"]') !== null);
          new MutationObserver(arm).observe(document.body, { subtree: true, childList: true, attributeFilter: ["aria-busy"] });
          const look = () => {
            if (armed && document.querySelector(wanted)) return requestAnimationFrame(() => found(performance.now() - begin));
            requestAnimationFrame(look);
          };
          requestAnimationFrame(look);
        },
        { once: true, capture: true },
      );
    });
  }, [selector, afterBusy]);
  await target.click();
  return page.evaluate(() => window.took);
}

/** The longest frame while the board is scrolled from its top to its end in two seconds. */
function slowestFrame(page) {
  return page.evaluate(
    () =>
      new Promise((reported) => {
        const end = document.documentElement.scrollHeight - innerHeight;
        const begin = performance.now();
        let before = begin;
        let slowest = 0;
        const step = (at) => {
          slowest = Math.max(slowest, at - before);
          before = at;
          const share = (at - begin) / 2000;
          scrollTo(0, end * Math.min(Math.max(share, 0), 1));
          if (share < 1) requestAnimationFrame(step);
          else scrollTo(0, 0), reported(slowest);
        };
        requestAnimationFrame(step);
      }),
  );
}
