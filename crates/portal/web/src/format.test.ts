import assert from "node:assert/strict";
import { test } from "node:test";
import { age, ago, clock, count, duration, isoDay, number, patientName, shiftDay, yearsOld } from "./format";

const MIN = 60_000;

test("ages are in their largest unit", () => {
  const cases: [number, string][] = [
    [-5 * MIN, "now"],
    [59_999, "now"],
    [4 * MIN, "4 min"],
    [59.9 * MIN, "59 min"],
    [60 * MIN, "1 h"],
    [47.9 * 60 * MIN, "47 h"],
    [48 * 60 * MIN, "2 d"],
  ];
  for (const [ms, expected] of cases) assert.equal(duration(ms), expected);
  assert.equal(age(1_000, 1_000 + 4 * MIN), "4 min");
  assert.equal(ago(1_000, 1_000 + 4 * MIN), "4 min ago");
  assert.equal(ago(1_000, 1_000), "now");
  assert.equal(ago(null), "–");
});

test("the clock has 24 hours and midnight is 00", () => {
  assert.equal(clock(new Date(2026, 10, 22, 0, 5).getTime()), "00:05");
  assert.equal(clock(new Date(2026, 10, 22, 14, 5, 9).getTime(), "second"), "14:05:09");
  assert.equal(clock("not a time"), "–");
});

test("numbers group their thousands and never show a minus zero", () => {
  assert.equal(number(1234), "1234");
  assert.equal(number(12345), "12\u202f345");
  assert.equal(number(1234567.891, 1), "1\u202f234\u202f567.9");
  assert.equal(number(-0.04, 1), "0.0");
  assert.equal(number(-2.5, 1), "−2.5");
  assert.equal(number(null), "–");
  assert.equal(number(NaN), "–");
});

test("days move over months and clock changes", () => {
  assert.equal(shiftDay("2026-03-01", -1), "2026-02-28");
  assert.equal(shiftDay("2024-02-28", 1), "2024-02-29");
  assert.equal(shiftDay("2026-10-25", 1), "2026-10-26");
  assert.equal(isoDay(new Date(2026, 0, 5, 23, 59)), "2026-01-05");
});

test("full years count from the birthday", () => {
  assert.equal(yearsOld("1980-11-22", new Date(2026, 10, 21)), 45);
  assert.equal(yearsOld("1980-11-22", new Date(2026, 10, 22)), 46);
  assert.equal(yearsOld(undefined), null);
  assert.equal(yearsOld("1980"), null);
});

test("words fit their number", () => {
  assert.equal(count(1, "patient"), "1 patient");
  assert.equal(count(0, "patient"), "0 patients");
  assert.equal(count(2, "study", "studies"), "2 studies");
});

test("a patient is called by the best that is known", () => {
  const uuid = "80876de9-4e89-449a-9a8f-c1e11f720437";
  assert.equal(patientName({ uuid, first_name: "Ada", last_name: "B", external_patient_id: "K-1" }), "Ada B");
  assert.equal(patientName({ uuid, external_patient_id: "K-1" }), "K-1");
  const voucher = { uuid, code: "ABCD2345" };
  assert.equal(patientName(voucher), "80876de9", "a code is a credential until it is used");
  assert.equal(patientName({ uuid }), "80876de9");
});
