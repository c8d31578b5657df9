import assert from "node:assert/strict";
import { test } from "node:test";
import { curlCommand } from "./curl";

test("the key is a variable of the shell, after ? or &", () => {
  assert.equal(
    curlCommand("http://h", "/integration/v1/groups"),
    `curl -sS 'http://h/integration/v1/groups?token='"$PULSEWARD_API_KEY"`,
  );
  assert.equal(curlCommand("http://h", "/x?a=1&b[]=2"), `curl -sS 'http://h/x?a=1&b[]=2&token='"$PULSEWARD_API_KEY"`);
});

test("a body is sent as JSON, its quotes kept from the shell", () => {
  assert.equal(
    curlCommand("http://h", "/x", "POST", { name: "it's" }),
    `curl -sS -X POST -H 'Content-Type: application/json' -d '{"name":"it'\\''s"}' 'http://h/x?token='"$PULSEWARD_API_KEY"`,
  );
});
