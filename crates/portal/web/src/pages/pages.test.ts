// The small rules of the pages.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiKey, AuditEntry } from "../api/types";
import { detailsText } from "./audit/details";
import { isAbout } from "./audit/is_about";
import { answered, type Job, nextToSend, progress, rangeEnd, rangeStart } from "./exports/jobs";
import { alarmsOf, rowsOf } from "./record/alarm_rows";
import { browserName } from "./settings/browser_name";
import { keyState } from "./settings/key_state";
import { newKeyBody } from "./settings/new_key_body";
import { retentionOf, shorterRetention } from "./study_settings/retention";
import { identifiersOf } from "./vouchers/make_vouchers";

const DAY = 86_400_000;

test("a key is revoked, expired, ending or active", () => {
  const now = Date.parse("2026-11-22T00:00:00Z");
  const key = (rest: Partial<ApiKey>) => ({ id: "1", name: "n", prefix: "p", created_at: "", ...rest }) as ApiKey;
  assert.equal(keyState(key({}), now), "active");
  assert.equal(keyState(key({ expires_at: new Date(now + 8 * DAY).toISOString() }), now), "active");
  assert.equal(keyState(key({ expires_at: new Date(now + 6 * DAY).toISOString() }), now), "ending");
  assert.equal(keyState(key({ expires_at: new Date(now).toISOString() }), now), "expired");
  assert.equal(
    keyState(key({ expires_at: new Date(now - DAY).toISOString(), revoked_at: "2026-11-01T00:00:00Z" }), now),
    "revoked",
  );
});

test("a new key without studies or end names neither", () => {
  assert.deepEqual(newKeyBody(" Notebook ", "", [], 0), { name: "Notebook" });
  assert.deepEqual(newKeyBody("N", "1", ["ABCDE"], 0), {
    name: "N",
    groups: ["ABCDE"],
    expires_at: "1970-01-02T00:00:00.000Z",
  });
});

test("empty alarm limits are left out and come back empty", () => {
  const alarms = [{ vital: "temperature", above: 38.5, for_s: 300 }];
  const rows = rowsOf(alarms);
  assert.deepEqual(rows, [{ vital: "temperature", below: "", above: "38.5", for_s: "300" }]);
  assert.deepEqual(alarmsOf(rows), alarms);
  assert.deepEqual(alarmsOf([{ ...rows[0], above: "38,2", below: " 35 " }]), [
    { vital: "temperature", below: 35, above: 38.2, for_s: 300 },
  ]);
});

test("a shorter retention is noticed, also where data were kept for good", () => {
  const after = retentionOf({ acc: "30", ecg: "", ppg1: "90", sleep: "x" });
  assert.deepEqual(after, { acc: 30, ppg1: 90 });
  assert.deepEqual(shorterRetention({ ppg1: 60 }, after), ["acc"]);
  assert.deepEqual(shorterRetention({ acc: 30, ppg1: 90 }, after), []);
});

test("an export waits for its time, then runs to its end", () => {
  const wish = { types: ["activity"], client_date_from: "", client_date_to: "", format: "csv" as const };
  const job = (rest: Partial<Job>): Job => ({
    key: "1",
    code: "ABCDE",
    uuid: "u",
    wish,
    state: "waiting",
    wanted_at: 0,
    ...rest,
  });
  const early = job({ key: "a", not_before: 100 });
  const other = job({ key: "b", state: "in_progress" });
  assert.equal(nextToSend([other, early], 99), undefined);
  assert.equal(nextToSend([other, early], 100), early);
  const done = answered(early, { id: "e1", status: "done", downloadUrl: "x" }, 7);
  assert.deepEqual([done.id, done.state, done.not_before, done.begun_at], ["e1", "done", undefined, 7]);
  assert.deepEqual(progress([done, other, job({ state: "failed" })]), { ended: 2, all: 3 });
});

test("the end of a range includes its last minute", () => {
  assert.equal(rangeStart("2026-11-22", "00:00"), "2026-11-22T00:00:00.000");
  assert.equal(rangeEnd("2026-11-22", "9:30"), "2026-11-22T09:30:59.999");
});

test("identifiers are one a line, without repeats", () => {
  assert.deepEqual(identifiersOf(" K-1\r\nK-2\n\nK-1 "), ["K-1", "K-2"]);
});

test("an entry is about its primary and its secondary entity", () => {
  const entry = { primary_entity_id: "p", secondary_entity_id: "g", user_id: "u" } as AuditEntry;
  assert.deepEqual(
    ["p", "g", "u"].map((id) => isAbout(entry, id)),
    [true, true, false],
  );
});

test("details are one line, erased ones none", () => {
  assert.equal(
    detailsText({ types: ["activity", "ecg"], retry_of: null, client_id: 4 }),
    "types: activity, ecg; client id: 4",
  );
  assert.equal(detailsText({ alarms: [{ above: 130, below: null, vital: "spo2" }] }), "alarms: above 130 vital spo2");
  assert.equal(detailsText({ from: new Date(2026, 10, 16, 8).getTime() }), "from: 16 Nov 2026, 08:00:00");
  assert.equal(detailsText({ from_local_ms: Date.UTC(2026, 10, 16) }), "from: 2026-11-16 00:00");
  assert.equal(detailsText(null), "");
});

test("browsers are known by what they do not claim to be", () => {
  assert.equal(
    browserName("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0"),
    "Edge on Windows",
  );
  assert.equal(
    browserName("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"),
    "Chrome on Linux",
  );
  assert.equal(browserName("curl/8.5.0"), "curl");
  assert.equal(browserName(""), "unknown");
});
