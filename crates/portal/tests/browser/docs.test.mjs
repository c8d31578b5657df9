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
  await page.getByPlaceholder("Filter by tag").fill("studies");
  await page.waitForFunction((all) => document.querySelectorAll(".opblock-tag").length < all, all);
  assert.equal(await sections.count(), 1);

  await page.getByRole("button", { name: "Authorize", exact: true }).click();
  const scheme = page.locator(".auth-container").filter({ hasText: "api_key_header" });
  await scheme.getByRole("textbox").fill(process.env.PORTAL_KEY);
  await scheme.getByRole("button", { name: "Apply credentials" }).click();
  await page.locator(".modal-ux .close-modal").click();

  await sections.first().click();
  const operation = page.locator("#operations-studies-integration_get_groups");
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  const answer = operation.locator(".live-responses-table .response");
  await answer.waitFor();
  assert.equal((await answer.locator(".response-col_status").textContent()).trim(), "200");
  assert.deepEqual(outside, []);
  assert.deepEqual(errors, []);
  await context.close();
});
