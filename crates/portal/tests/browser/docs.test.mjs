// The API's documentation: it loads nothing from elsewhere, can be searched, and sends requests with a key.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, openPage, PORTAL } from "./browser.mjs";

let browser;

before(async () => {
  browser = await launch();
});
after(() => browser?.close());

test("an operation is found, and tried out with a key", async () => {
  const { page, context, outside, errors } = await openPage(browser);
  await page.goto(`${PORTAL}/docs`);
  const sections = page.locator(".opblock-tag");
  await sections.first().waitFor();
  const all = await sections.count();
  await page.getByRole("button", { name: "Authorize", exact: true }).click();
  const scheme = page.locator(".auth-container").filter({ hasText: "api_key_header" });
  await scheme.getByRole("textbox").fill(process.env.PORTAL_KEY);
  await scheme.getByRole("button", { name: "Apply credentials" }).click();
  await page.locator(".modal-ux .close-modal").click();

  const search = page.getByPlaceholder("Filter by tag");
  // No tag has this name: it is in paths and summaries of operations.
  await search.fill("VOUCHER");
  await page.waitForFunction((all) => document.querySelectorAll(".opblock-tag").length < all, all);
  assert.ok((await sections.count()) > 0);
  await page.locator("#operations-tag-patients").click();
  const operation = page.locator("#operations-patients-integration_get_check_voucher_code_voucher_code");
  await operation.waitFor();
  for (const summary of await page.locator(".opblock-summary").allTextContents()) {
    assert.match(summary, /voucher/i);
  }
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByPlaceholder("voucher_code").fill("ABCDEFGH");
  await operation.getByRole("button", { name: "Execute" }).click();
  const answer = operation.locator(".live-responses-table .response");
  await answer.waitFor();
  assert.equal((await answer.locator(".response-col_status").textContent()).trim(), "200");

  await search.fill("nothing has this name");
  await page.waitForFunction(() => document.querySelectorAll(".opblock-tag").length === 0);
  // All of a section whose name is found, whatever its operations are called.
  await search.fill("raw metrics");
  await page.locator("#operations-tag-raw_metrics").waitFor();
  assert.ok((await sections.count()) < all);
  assert.deepEqual(outside, []);
  assert.deepEqual(errors, []);
  await context.close();
});
