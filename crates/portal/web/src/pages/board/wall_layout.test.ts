import assert from "node:assert/strict";
import { test } from "node:test";
import { layoutOf, type Room, turnOf } from "./wall_layout";

const HD: Room = { width: 1896, height: 1010, screen: 1080 };
const UHD: Room = { width: 3816, height: 2090, screen: 2160 };

test("digits are never smaller than what is read at three metres", () => {
  for (const [room, least] of [
    [HD, 30],
    [UHD, 60],
  ] as const) {
    for (const count of [1, 4, 12, 24, 30, 60, 100, 300, 1000]) {
      for (const urgent of [0, 1, Math.min(Math.floor(count / 10), 60), Math.min(60, count)]) {
        const { font } = layoutOf(count, urgent, room);
        assert.ok(font >= least - 1e-6, `${count} patients, ${urgent} urgent: ${font}`);
      }
    }
  }
});

test("urgent patients are all on the screen, whatever their number", () => {
  for (const urgent of [0, 1, 29, 30, 80, 120, 300]) {
    const { first, others, font } = layoutOf(300, urgent, HD);
    const shown = first.places + (others?.places ?? 0);
    assert.ok(first.places >= urgent, `${urgent} urgent: ${first.places} places`);
    assert.ok(shown >= urgent && font > 0);
    const rows = Math.ceil(first.places / first.columns);
    const heights = { all: 4.7, some: 4.7, score: 2.5 };
    assert.ok(rows * heights[first.detail] * font <= HD.height + 1, `${urgent} urgent need ${rows} rows`);
  }
});

test("columns are dropped before patients", () => {
  assert.equal(layoutOf(12, 2, HD).first.detail, "all");
  assert.equal(layoutOf(12, 2, HD).others, null);
  const many = layoutOf(40, 2, HD);
  assert.equal(many.first.detail, "some");
  assert.equal(many.first.places, 40, "everybody, without turns");
  const more = layoutOf(80, 5, HD);
  assert.equal(more.first.places + more.others!.places >= 80, true, "all at once, the others by score");
  const most = layoutOf(300, 30, HD);
  assert.ok(most.first.places === 30 && most.others!.places >= 2 * most.others!.columns);
});

test("a large screen with few patients is filled", () => {
  const four = layoutOf(4, 0, UHD);
  assert.ok(four.font > 120, String(four.font));
  const twenty = layoutOf(20, 0, UHD);
  const area = twenty.first.places * 15.5 * 4.7 * twenty.font ** 2;
  assert.ok(area > 0.6 * UHD.width * UHD.height, "less than 40 % stays empty");
});

test("the others take turns, each of them", () => {
  const others = Array.from({ length: 50 }, (_, at) => at);
  const seen = new Set<number>();
  const { pages } = turnOf(others, 12, 0);
  for (let turn = 0; turn < pages; turn += 1) for (const one of turnOf(others, 12, turn).shown) seen.add(one);
  assert.equal(seen.size, 50);
});
