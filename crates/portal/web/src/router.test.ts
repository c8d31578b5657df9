import assert from "node:assert/strict";
import { test } from "node:test";
import { matchPath, withQuery } from "./router";

test("a path fits its pattern part by part", () => {
  assert.deepEqual(matchPath("/", "/"), {});
  assert.deepEqual(matchPath("/studies/:code", "/studies/ABCDE"), { code: "ABCDE" });
  assert.deepEqual(matchPath("/studies/:code", "/studies/ABCDE/"), { code: "ABCDE" });
  assert.deepEqual(matchPath("/studies/:code/patients/:uuid", "/studies/A/patients/b%20c"), { code: "A", uuid: "b c" });
});

test("what does not fit is null, also when it cannot be decoded", () => {
  assert.equal(matchPath("/studies/:code", "/studies"), null);
  assert.equal(matchPath("/studies/:code", "/studies/A/patients"), null);
  assert.equal(matchPath("/settings", "/setting"), null);
  assert.equal(matchPath("/studies/:code", "/studies/%E0%A4%A"), null);
});

test("changes of the query keep the rest", () => {
  const query = new URLSearchParams("from=2026-11-01&action=USER_LOGIN");
  assert.equal(withQuery("/audit", query, { action: null, patient: "u" }), "/audit?from=2026-11-01&patient=u");
  assert.equal(withQuery("/audit", query, { action: "", from: null }), "/audit");
  assert.equal(query.get("action"), "USER_LOGIN");
});
