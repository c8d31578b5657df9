// A patient lets an application read their data: the application's address may send the browser on, and its page calls the
// service from another origin.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { launch, openPage, PORTAL } from "./browser.mjs";
import { activate, makeStudy, makeVoucher } from "./study.mjs";

const EMAIL = "grace@example.org";
const PASSWORD = "a password for tests";
const VERIFIER = "a verifier that is long enough for RFC 7636, forty-three".replaceAll(/[^a-z0-9]/gi, "-");

let browser;

before(async () => {
  // A browser asks its user before a page of the internet calls a program of the same machine, which the service is here.
  browser = await launch("--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets");
});
after(() => browser?.close());

/** A server of the application on a port of its own. */
async function serve(handler) {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A journey that fails does not get as far as closing it.
  server.unref();
  return { port: server.address().port, close: () => server.close() };
}

test("an application whose address redirects on gets its code, and the code is good", async () => {
  const study = await makeStudy("Diary");
  const voucher = await makeVoucher(study.code);
  await activate(voucher.code, { email: EMAIL, first_name: "Grace", last_name: "Hopper" });

  const inside = await serve((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end("<title>Diary</title><h1>Welcome back</h1>");
  });
  // Another origin, since the name of the host differs.
  const callback = await serve((request, answer) => {
    const { search } = new URL(request.url, "http://127.0.0.1");
    answer.writeHead(302, { location: `http://localhost:${inside.port}/inside${search}` });
    answer.end();
  });
  const redirectUri = `http://127.0.0.1:${callback.port}/back`;
  const challenge = createHash("sha256").update(VERIFIER).digest("base64url");
  const asked = new URLSearchParams({
    response_type: "code",
    client_id: process.env.OAUTH_CLIENT,
    redirect_uri: redirectUri,
    state: "s1",
    code_challenge: challenge,
    code_challenge_method: "S256",
  });

  const { page, context, errors } = await openPage(browser);
  await page.goto(`${PORTAL}/health/oauth/authorize?${asked}`);
  await page.getByLabel("E-mail or code").fill(EMAIL);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Allow", exact: true }).click();
  await page.getByRole("heading", { name: "Welcome back" }).waitFor();
  const arrived = new URL(page.url());
  assert.deepEqual([arrived.hostname, arrived.searchParams.get("state")], ["localhost", "s1"]);

  const answer = await fetch(`${PORTAL}/health/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: process.env.OAUTH_CLIENT,
      code: arrived.searchParams.get("code"),
      redirect_uri: redirectUri,
      code_verifier: VERIFIER,
    }),
  });
  assert.equal(answer.status, 200, await answer.text());
  assert.deepEqual(errors, []);
  await context.close();
  inside.close();
  callback.close();
});

test("a page of a registered application reads with a token, one of another does not", async () => {
  const study = await makeStudy("Pages");
  const voucher = await makeVoucher(study.code);
  const token = await activate(voucher.code);
  const { page, context, consoleErrors } = await openPage(browser, { ignoreHTTPSErrors: true });
  // Pages of these origins, without a server there.
  for (const origin of ["https://diary.example", "https://other.example"]) {
    await page.route(`${origin}/**`, (route) => route.fulfill({ contentType: "text/html", body: "<title>A page</title>" }));
  }
  const read = async (origin) => {
    await page.goto(`${origin}/page`);
    return page.evaluate(
      async ([url, token]) => {
        try {
          const headers = { Authorization: `Bearer ${token}` };
          const answer = await fetch(url, { headers });
          return { status: answer.status, id: answer.headers.get("x-request-id") };
        } catch (error) {
          return { error: error.name };
        }
      },
      [`${PORTAL}/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20`, token],
    );
  };
  const registered = await read("https://diary.example");
  assert.equal(registered.status, 200, JSON.stringify([registered, consoleErrors]));
  assert.match(registered.id, /^[0-9a-f]{16}$/);
  assert.deepEqual(await read("https://other.example"), { error: "TypeError" });
  await context.close();
});
