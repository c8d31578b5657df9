import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, Unreachable } from "./client";
import { waitSeconds } from "./wait";

test("what is refused for now is waited for, as long as the server says", () => {
  const cases: [unknown, number | null][] = [
    [new ApiError(429, "too_many_requests", "x", {}, 12), 12],
    [new ApiError(503, "busy", "x"), 5],
    [new ApiError(500, "internal", "x"), null],
    [new ApiError(403, "forbidden", "x"), null],
    [new Unreachable(), null],
  ];
  for (const [error, seconds] of cases) assert.equal(waitSeconds(error), seconds);
});
