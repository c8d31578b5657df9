// A browser at the portal: pages that count every request that leaves for elsewhere and every error of a script, and the
// few things that every journey does.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

/** Where the portal is. */
export const PORTAL = process.env.PORTAL_URL;
/** A researcher who may do everything in their studies. */
export const RITA = { email: process.env.PORTAL_EMAIL, password: process.env.PORTAL_PASSWORD };

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Starts the browser. As root, in a container, it has no sandbox to go into. */
export function launch(...more) {
  return chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", ...more] });
}

/** A page that remembers what it must not have done. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    locale: "en-GB",
    timezoneId: "Europe/Zurich",
    reducedMotion: "reduce",
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const outside = [];
  const errors = [];
  const consoleErrors = [];
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    const own = origin === new URL(options.baseURL ?? PORTAL).origin;
    if (!own && protocol !== "data:" && protocol !== "blob:") outside.push(request.url());
  });
  page.on("pageerror", (error) => errors.push(`${error.message}\n${error.stack}`));
  // What the policy of the page forbids is reported in the console.
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/.test(message.text())) errors.push(message.text());
    if (message.type() === "error") consoleErrors.push(`${message.text()} ${message.location().url}`);
  });
  return { context, page, outside, errors, consoleErrors };
}

/** Fills the sign-in form. */
export async function signIn(page, { email, password }, url = PORTAL) {
  await page.goto(url);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Faults of accessibility that are serious or worse, as lines to read. */
export async function seriousFaults(page) {
  // Added as the test's own code: the page's policy lets no other script in.
  const { violations } = await page.evaluate(`${axeSource}; axe.run(document, { resultTypes: ["violations"] })`);
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} (${node.any[0]?.message ?? ""})`).join(" | ")}`);
}
