import "../../testkit/browser";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { connectionAnswered } from "../../api/connection";
import type { Range } from "../../charts/range";
import type { Gap } from "../../charts/series";
import { navigate } from "../../router";
import { enter, patient } from "../../testkit/people";
import { Screen, settle, textOf } from "../../testkit/screen";
import { later, refusal, Server } from "../../testkit/server";
import Page from "./page";
import { RangeBar } from "./range_bar";
import { useNews } from "./use_news";
import { type Signals, useSeries } from "./use_series";
import { type PatientZone, usePatientZone } from "./use_zone";
import { viewOf } from "./view";

const NOW = Date.parse("2025-11-20T12:00:00Z");
const HOUR = 3_600_000;
const DAY: Range = { from: NOW - 24 * HOUR, to: NOW };
let server: Server;
let screen: Screen;

before(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: NOW }));
after(() => mock.timers.reset());
beforeEach(() => {
  mock.timers.setTime(NOW);
  server = new Server();
  server.on("GET", "/livez", () => "ok");
  screen = new Screen(null);
});
afterEach(async () => {
  screen.leave();
  await act(() => connectionAnswered());
});

const pass = async (ms: number) => {
  await act(() => mock.timers.tick(ms));
  await settle();
};
const answer = (more: object = {}) => ({ ...DAY, bucket_ms: 60_000, series: [], gaps: [] as Gap[], ...more });

let signals: Signals;
function Reader({
  range = DAY,
  names = ["activity.bpm"],
  points = 800,
}: {
  range?: Range;
  names?: string[];
  points?: number;
}) {
  signals = useSeries("u", names, range, points);
  return (
    <p>{`${signals.answer ? "drawn" : "nothing"}${signals.busy ? ", busy" : ""}${signals.error ? `, ${signals.error.message}` : ""}${signals.waitS ? `, waits ${signals.waitS} s` : ""}`}</p>
  );
}
const moved = (hours: number): Range => ({ from: DAY.from - hours * HOUR, to: DAY.to - hours * HOUR });
const asked = () => server.of(/series/);

test("nothing is asked for before the width is known, nor for no signals", async () => {
  screen.draw(<Reader points={0} />);
  await settle();
  screen.draw(<Reader names={[]} />);
  await settle();
  assert.equal(server.asked.length, 0);
  assert.equal(screen.text, "nothing");
});

test("lines and codes are one answer, each with the length of its own buckets", async () => {
  server.on("GET", /series.*activity/, () => answer({ bucket_ms: 60_000, series: [{ type: "activity" }] }));
  server.on("GET", /series.*sleep/, () => answer({ bucket_ms: 30_000, series: [{ type: "sleep" }] }));
  screen.draw(<Reader names={["activity.bpm", "sleep.sleep_state"]} />);
  await settle();
  assert.deepEqual(
    signals.answer!.series.map((one) => one.bucket_ms),
    [60_000, 30_000],
  );
});

test("what is drawn stays while the next stretch is read, and one that was left is not read on", async () => {
  server.on("GET", /series/, () => answer());
  screen.draw(<Reader />);
  await settle();
  assert.equal(screen.text, "drawn");
  server.on("GET", /series/, () => new Promise(() => {}));
  screen.draw(<Reader range={moved(1)} />);
  await settle();
  assert.equal(screen.text, "drawn, busy");
  screen.draw(<Reader range={moved(2)} />);
  await settle();
  assert.equal(asked()[1]!.signal!.aborted, true);
  assert.equal(asked()[2]!.signal!.aborted, false);
});

test("a key that is held down asks when it is released", async () => {
  server.on("GET", /series/, () => new Promise(() => {}));
  for (let step = 0; step < 20; step += 1) {
    screen.draw(<Reader range={moved(step)} />);
    await pass(50);
  }
  const early = asked().length;
  assert.ok(early <= 4, `${early} requests for twenty moves`);
  await pass(250);
  assert.equal(
    asked()
      .at(-1)!
      .path.includes(`from=${moved(19).from}`),
    true,
    "the last one is read",
  );
});

test("a server that asks for patience is asked again when its time is over, and not before", async () => {
  server.on("GET", /series/, () => refusal(429, "too_many_requests", { retryAfter: "10" }));
  screen.draw(<Reader />);
  await settle();
  assert.equal(screen.text, "nothing, waits 10 s");
  screen.draw(<Reader range={moved(1)} />);
  await pass(9_000);
  assert.equal(asked().length, 1, "also moves wait");
  server.on("GET", /series/, () => answer());
  await pass(1_000);
  assert.equal(screen.text, "drawn");
});

test("a refusal is shown next to what is drawn, a lost connection is not", async () => {
  server.on("GET", /series/, () => answer());
  screen.draw(<Reader />);
  await settle();
  server.on("GET", /series/, () => refusal(403, "forbidden", { message: "not a member" }));
  screen.draw(<Reader range={moved(1)} />);
  await settle();
  assert.equal(screen.text, "drawn, not a member");
  server.on("GET", /series/, () => new TypeError("fetch failed"));
  screen.draw(<Reader range={moved(2)} />);
  await pass(250);
  assert.equal(screen.text, "drawn");
});

test("only what reaches into the present is read again by the clock", async () => {
  server.on("GET", /series/, () => answer());
  screen.draw(<Reader range={moved(1)} />);
  await pass(120_000);
  assert.equal(asked().length, 1);
  screen.draw(<Reader range={{ from: NOW, to: NOW + HOUR }} />);
  await pass(0);
  const before = asked().length;
  await pass(30_000);
  assert.equal(asked().length, before + 1);
  assert.match(asked().at(-1)!.path, /peek=1/);
});

test("signals that are wanted no more are taken off, and their request ends", async () => {
  server.on("GET", /series/, () => answer());
  screen.draw(<Reader />);
  await settle();
  screen.draw(<Reader names={[]} />);
  await settle();
  assert.equal(screen.text, "nothing");
});

test("scores that cannot be read leave the vitals alone", async () => {
  let entries = -1;
  const Scores = () => {
    entries = useNews("u", DAY).entries.length;
    return null;
  };
  server.on("GET", /news/, () => refusal(500, "internal"));
  screen.draw(<Scores />);
  await settle();
  assert.equal(entries, 0);
  screen.draw(null);
  server.on("GET", /news/, () => refusal(503, "busy", { retryAfter: "4" }));
  screen.draw(<Scores />);
  await settle();
  server.on("GET", /news/, () => ({ time_zone: null, entries: [{ timestamp: 1, value: 2 }] }));
  await pass(4_000);
  assert.equal(entries, 1);
});

let zone: PatientZone | null;
const Zone = ({ uuid, date = null }: { uuid: string; date?: string | null }) => {
  zone = usePatientZone(uuid, date);
  return null;
};
const named = (time_zone: string | null) => server.on("GET", /\/news\?/, () => ({ time_zone, entries: [] }));
const slots = (date: string, local: string, instant: string) =>
  server.on("GET", new RegExp(`summary/${date}`), () => ({
    date,
    heart_rate: { slots: [{ timestamp: Date.parse(instant), date: local }] },
  }));

test("the zone is that which the scores' route names", async () => {
  named("Asia/Tokyo");
  screen.draw(<Zone uuid="a" />);
  assert.equal(zone, null, "nothing is said before it is known");
  await settle();
  assert.deepEqual(zone, { zone: "Asia/Tokyo", known: true });
});

test("on a day abroad it is that of the day's slots", async () => {
  named("Europe/Zurich");
  slots("2025-11-18", "08:00", "2025-11-18T13:00:00Z");
  screen.draw(<Zone uuid="b" date="2025-11-18" />);
  await settle();
  assert.deepEqual(zone, { zone: "UTC-05:00", known: true });
});

test("without a name it is looked for in the last days, and else it is the reader's, which is said", async () => {
  named(null);
  server.on("GET", /summary/, () => refusal(404, "not_found"));
  slots("2025-11-18", "17:45", "2025-11-18T12:00:00Z");
  screen.draw(<Zone uuid="c" />);
  await settle();
  assert.deepEqual(zone, { zone: "UTC+05:45", known: true });
  server.on("GET", /summary/, () => refusal(404, "not_found"));
  screen.draw(<Zone uuid="d" />);
  await settle();
  assert.deepEqual(zone, { zone: "Europe/Zurich", known: false });
  assert.equal(server.of(/patients\/d\/summary/).length, 3);
});

test("a zone that was found before is kept while it is looked for again", async () => {
  server.on("GET", /./, () => new Promise(() => {}));
  screen.draw(<Zone uuid="a" />);
  await settle();
  assert.deepEqual(zone, { zone: "Asia/Tokyo", known: true });
});

function bar(query: string): { ranges: Range[]; dates: [string | null, number][] } {
  const reported = { ranges: [] as Range[], dates: [] as [string | null, number][] };
  const view = viewOf(new URLSearchParams(query), "Europe/Zurich", NOW);
  screen.draw(
    <RangeBar
      view={view}
      zone="Europe/Zurich"
      zoneText="here"
      onDate={(...to) => reported.dates.push(to)}
      onRange={(range) => reported.ranges.push(range)}
    />,
  );
  return reported;
}

test("the buttons of the range move by days and never past today", async () => {
  const reported = bar("date=2025-11-20&days=3");
  assert.equal(screen.button("Days after").disabled, true);
  await screen.press("Days before");
  await screen.press("Now");
  await screen.press("14 d");
  assert.deepEqual(reported.dates, [
    ["2025-11-17", 3],
    [null, 3],
    ["2025-11-20", 14],
  ]);
  bar("date=2025-11-19");
  assert.equal(screen.button("Day after").disabled, false);
});

test("a closer look at a running day is at its last hours, and never into the future", async () => {
  const reported = bar("date=2025-11-20");
  await screen.press("6 h");
  assert.deepEqual(reported.ranges.at(-1), { from: NOW - 6 * HOUR, to: NOW });
  const late = bar(`date=2025-11-20&from=${NOW - 1_000}&to=${NOW + HOUR}`);
  await screen.press("1 min");
  assert.deepEqual(late.ranges.at(-1), { from: NOW - 1_000, to: NOW + 59_000 }, "of a stretch that begins now");
});

test("a zoom can be left, and says what it shows", async () => {
  const reported = bar(`date=2025-11-20&from=${NOW - HOUR}&to=${NOW}`);
  assert.match(textOf(screen.one("[role=status]")), /^20 Nov 12:00 – 13:00 · 1 h · here$/);
  await screen.press("Whole day");
  assert.equal(reported.ranges[0]!.to - reported.ranges[0]!.from, 24 * HOUR);
  bar("date=2025-10-26");
  assert.match(textOf(screen.one("[role=status]")), /^Sun 26 Oct 2025 · 1 d 1 h/, "a day of 25 hours");
});

async function openPage(query = "") {
  await act(() => navigate(`/studies/ABC/patients/u1${query}`, { replace: true }));
  screen.draw(<Page params={{ code: "ABC", uuid: "u1" }} />);
  for (let turn = 0; turn < 3; turn += 1) await settle();
}

function ward() {
  server
    .on("GET", /groups\/ABC\/patients$/, () => [
      patient("u1", { first_name: "Ada", last_name: "B", birthday: "1961-11-21", height: 170 }),
    ])
    .on("GET", /\/news\?/, () => ({ time_zone: "Europe/Zurich", entries: [] }))
    .on("GET", /summary/, () => refusal(404, "not_found"))
    .on("GET", /series/, () => answer())
    .on("GET", /latest-news-score/, () => refusal(404, "not_found"))
    .on("GET", /alarms$/, () => ({ alarms: [{ vital: "spo2", below: 88, above: null, for_s: 90 }] }))
    .on("GET", /bracelets$/, () => []);
}

test("a patient's page says who it is, what is set and in which clock", async () => {
  ward();
  await enter(server);
  await openPage();
  assert.equal(textOf(screen.one("h1")), "Ada B");
  assert.match(screen.text, /21 Nov 1961 \(63\)/, "the birthday is tomorrow");
  assert.match(screen.text, /SpO₂ below 88 for 1 min 30 s/);
  assert.match(screen.text, /No score yet/);
  assert.match(screen.text, /patient’s local time \(Europe\/Zurich\)/);
  assert.match(screen.text, /None is assigned/);
});

test("raw signals come by themselves below ten minutes, on request up to six hours", async () => {
  ward();
  await enter(server);
  await openPage();
  assert.match(screen.text, /drawn up to 6 hours/);
  await openPage(`?from=${NOW - HOUR}&to=${NOW}`);
  assert.equal(server.of(/ecg\.ecg/).length, 0);
  await screen.press("Show ECG, PPG and acceleration");
  await settle();
  assert.equal(server.of(/ecg\.ecg/).length, 1);
  await openPage(`?from=${NOW - 60_000}&to=${NOW}`);
  await pass(300);
  assert.match(server.of(/ecg\.ecg/).at(-1)!.path, new RegExp(`from=${NOW - 60_000}`));
});

test("records of atrial fibrillation are read when asked for, by those who may export", async () => {
  ward();
  server.on("POST", /create-afib-export/, () => [
    {
      _id: "r1",
      timestamp: NOW - HOUR,
      classification: "NSR",
      final_probability: 0.9,
      heart_rate: 60,
      rmssd: 1,
      pnn50: 1,
      good_ibi_number: 64,
      has_image_file: true,
    },
    {
      _id: "r/2",
      timestamp: NOW - 2 * HOUR,
      classification: "AF",
      final_probability: 0.8,
      heart_rate: null,
      rmssd: null,
      pnn50: null,
      good_ibi_number: null,
      has_image_file: false,
    },
  ]);
  const strip = later<unknown>();
  server.on("GET", /strip\.svg$/, () => strip.answer);
  await enter(server);
  await openPage();
  assert.equal(server.of(/afib/).length, 0);
  await screen.press("Show the records of this range");
  assert.equal(
    server.of(/strip/)[0]!.path,
    "/integration/v1/patients/u1/afib/r%2F2/strip.svg",
    "the suspicious one first",
  );
  await act(() => strip.come(new Response("<svg onload='x'/>")));
  await settle();
  assert.match(screen.one<HTMLImageElement>("figure img").getAttribute("src")!, /^data:image\/svg\+xml,%3Csvg/);
  assert.match(screen.text, /Atrial fibrillation.*Sinus rhythm/);
  screen.draw(null);
  await enter(server, "hcp", { role: "hcp" });
  await openPage();
  assert.equal(screen.all(".afib").length, 0);
});

test("the newest score adds up, says what is old and what nobody has set", async () => {
  ward();
  server.on("GET", /latest-news-score/, () => ({
    ...{
      timestamp: NOW - 31 * 60_000,
      value: null,
      age_s: 1,
      assumed: ["oxygen"],
      missing: [{ parameter: "spo2", reason: "too_old", age_s: 4_000 }],
    },
    ...{ heart_rate: 131, heart_rate_timestamp: NOW - 32 * 60_000, score_heart_rate: 3 },
  }));
  await enter(server);
  await openPage();
  const panel = textOf(screen.one(".news-panel"));
  assert.match(panel, /31 min ago/);
  assert.match(panel, /– No score/);
  assert.match(panel, /Outdated: older than 30 min/);
  assert.match(panel, /Heart rate131 \/min1 min3/);
  assert.match(panel, /No total: SpO₂ too old\./);
  assert.match(panel, /Assumed, never set: oxygen\./);
});

test("a patient that the study does not hold is said not to be there", async () => {
  ward();
  server.on("GET", /groups\/ABC\/patients$/, () => []);
  await enter(server);
  await openPage();
  assert.match(screen.text, /This study has no such patient/);
});
