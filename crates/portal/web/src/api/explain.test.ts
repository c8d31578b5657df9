import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, Unreachable } from "./client";
import { explain, waitWords } from "./explain";

test("what went wrong is said with what to do", () => {
  const cases: [unknown, RegExp][] = [
    [new Unreachable(), /cannot be reached.*try again/],
    [new ApiError(409, "group_has_patients", "x"), /still has patients/],
    [new ApiError(422, "invalid", "x", { weight_kg: ["must be 2 to 400"] }), /^Weight kg must be 2 to 400\.$/],
    [
      new ApiError(422, "invalid", "x", {
        "alarms.0.below": ["or above is required"],
        "alarms.11.for_s": ["is short"],
      }),
      /^Alarm 1, below or above is required; alarm 12, for s is short\.$/,
    ],
    [
      new ApiError(422, "invalid", "x", { "retention.heart-rate": ["must be a number"] }),
      /^Retention, heart-rate must/,
    ],
    [new ApiError(422, "invalid", "x", { "redirect_uris.1": ["is no address"] }), /^Redirect uri 2 is no address\.$/],
    [new ApiError(403, "forbidden", "not a member"), /no right.*not a member/],
    [new ApiError(429, "too_many_requests", "x", {}, 200), /in 4 min/],
    [new ApiError(500, "internal", "secret words"), /^Something went wrong on the server/],
    [new ApiError(418, "new_code", "the kettle is empty"), /^The kettle is empty\.$/],
  ];
  for (const [error, expected] of cases) assert.match(explain(error), expected);
});

test("waiting is given in seconds, then in minutes", () => {
  assert.equal(waitWords(20), "20 s");
  assert.equal(waitWords(0.4), "1 s");
  assert.equal(waitWords(90), "2 min");
});
