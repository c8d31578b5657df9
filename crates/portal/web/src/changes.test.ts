import assert from "node:assert/strict";
import { test } from "node:test";
import { changedFields, formValues } from "./changes";

test("only what differs is sent", () => {
  const before = { first_name: "Ada", height: "170", email: "a@b.example" };
  assert.deepEqual(changedFields(before, before), {});
  assert.deepEqual(changedFields(before, { ...before, first_name: " Ada " }), {});
  assert.deepEqual(changedFields(before, { first_name: "Eva", height: "171,5", email: "" }, ["height"]), {
    first_name: "Eva",
    height: 171.5,
    email: null,
  });
  assert.deepEqual(changedFields(before, { height: "tall" }, ["height"]), { height: "tall" });
  assert.deepEqual(changedFields(before, { height: "" }, ["height"]), { height: null });
});

test("a record's absent fields are empty texts", () => {
  assert.deepEqual(formValues({ height: 0, email: null }, ["height", "email", "country"]), {
    height: "0",
    email: "",
    country: "",
  });
});
