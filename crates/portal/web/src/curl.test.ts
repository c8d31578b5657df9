import assert from "node:assert/strict";
import { test } from "node:test";
import * as paths from "./api/paths";
import { curlCommand } from "./curl";

const KEY = `-H "X-Api-Key: $PULSEWARD_API_KEY"`;

test("the key is a variable of the shell, in a header", () => {
  assert.equal(curlCommand("http://h", "/integration/v1/groups"), `curl -sS ${KEY} 'http://h/integration/v1/groups'`);
  assert.equal(curlCommand("http://h", "/x?a=1&b[]=2"), `curl -sS -g ${KEY} 'http://h/x?a=1&b[]=2'`);
});

test("several addresses are one command", () => {
  assert.equal(
    curlCommand("http://h", paths.summaries("u", ["2025-11-19", "2025-11-20"])),
    `curl -sS --retry 3 ${KEY} 'http://h/integration/v1/patients/u/summary/{2025-11-19,2025-11-20}?include_slots=1'`,
  );
  assert.equal(paths.dayCompliance(["u"], ["2025-11-20"]), "/integration/v1/patients/u/compliance/2025-11-20");
});

test("a body is sent as JSON, its quotes kept from the shell", () => {
  assert.equal(
    curlCommand("http://h", "/x", "POST", { name: "it's" }),
    `curl -sS -X POST ${KEY} -H 'Content-Type: application/json' -d '{"name":"it'\\''s"}' 'http://h/x'`,
  );
});
