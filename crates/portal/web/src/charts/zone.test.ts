import assert from "node:assert/strict";
import { test } from "node:test";
import { timeLabels, timeMarks, timeStep } from "./axis";
import { addDays, clock, dateOf, dayRange, instantOf, knownZone, longDate, offsetMs, rangeText } from "./zone";

const HOUR = 3_600_000;
const ZURICH = "Europe/Zurich";

test("times are those of the patient's clock", () => {
  const instant = Date.parse("2025-07-20T12:05:09.250Z");
  assert.equal(clock(instant, ZURICH), "14:05");
  assert.equal(clock(instant, "America/Lima", "second"), "07:05:09");
  assert.equal(clock(instant, "UTC+05:45", "millisecond"), "17:50:09.250");
  assert.equal(clock(Date.parse("2025-07-19T22:00:00Z"), ZURICH), "00:00", "midnight is 00 and not 24");
  assert.equal(dateOf(Date.parse("2025-07-20T22:30:00Z"), ZURICH), "2025-07-21");
});

test("a day of a clock change has 23 or 25 hours", () => {
  const hours = (date: string, zone: string) => {
    const { from, to } = dayRange(date, zone);
    return (to - from) / HOUR;
  };
  assert.equal(hours("2025-03-30", ZURICH), 23);
  assert.equal(hours("2025-10-26", ZURICH), 25);
  assert.equal(hours("2025-10-27", ZURICH), 24);
  // Where midnight itself is skipped the day begins at one.
  const beirut = dayRange("2025-03-30", "Asia/Beirut");
  assert.equal(clock(beirut.from, "Asia/Beirut"), "01:00");
  assert.equal(dateOf(beirut.from, "Asia/Beirut"), "2025-03-30");
  assert.equal(dateOf(beirut.from - 1, "Asia/Beirut"), "2025-03-29");
});

test("local times lead back to their instants", () => {
  for (const zone of [ZURICH, "America/Lima", "Asia/Kathmandu", "UTC-03:30", "Pacific/Chatham"]) {
    for (let at = Date.parse("2025-01-01T00:30:00Z"); at < Date.parse("2026-01-01T00:00:00Z"); at += 37 * HOUR) {
      assert.equal(instantOf(at + offsetMs(at, zone), zone), at, `${zone} ${new Date(at).toISOString()}`);
    }
  }
});

test("an unknown zone is UTC", () => {
  assert.equal(knownZone("Moon/Tycho"), "UTC");
  assert.equal(knownZone(undefined), "UTC");
  assert.equal(knownZone(ZURICH), ZURICH);
});

test("dates in words", () => {
  assert.equal(longDate("2025-11-20"), "Thu 20 Nov 2025");
  assert.equal(addDays("2025-02-28", 1), "2025-03-01");
  const from = Date.parse("2025-11-20T22:30:00Z");
  assert.equal(rangeText(from, from + 1.5 * HOUR, ZURICH), "20 Nov 23:30 – 21 Nov 01:00");
  assert.equal(rangeText(from, from + 2000, ZURICH), "20 Nov 23:30:00.000 – 23:30:02.000");
});

test("marks are at round local times, also where the zone is off by half hours", () => {
  const from = Date.parse("2025-11-20T00:10:00Z");
  const marks = timeMarks(from, from + 24 * HOUR, 6 * HOUR, "Asia/Kolkata");
  assert.deepEqual(
    marks.map((mark) => clock(mark, "Asia/Kolkata")),
    ["06:00", "12:00", "18:00", "00:00"],
  );
  assert.deepEqual(timeLabels(marks, 6 * HOUR, "Asia/Kolkata")[3], "00:00\n21 Nov");
});

test("marks go over both clock changes without a fault", () => {
  for (const date of ["2025-03-30", "2025-10-26"]) {
    const { from, to } = dayRange(date, ZURICH);
    const marks = timeMarks(from, to, HOUR, ZURICH);
    assert.ok(marks.every((mark, index) => index === 0 || mark > marks[index - 1]!));
    assert.ok(marks.every((mark) => clock(mark, ZURICH).endsWith(":00")));
    assert.ok(marks.length >= 23);
  }
});

test("labels have room", () => {
  for (const span of [1000, 60_000, HOUR, 24 * HOUR, 14 * 24 * HOUR]) {
    const step = timeStep(span, 800, 84);
    assert.ok((step / span) * 800 >= 84, `${span}`);
  }
});
