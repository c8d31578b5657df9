import "../testkit/browser";
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Screen, settle, textOf } from "../testkit/screen";
import { type Column, Table } from "./table";

interface Bed {
  id: number;
  name: string;
  score: number | null;
}

const COLUMNS: Column<Bed>[] = [
  { key: "name", title: "Name", value: (bed) => bed.name, cell: (bed) => <b>{bed.name}</b> },
  { key: "score", title: "Score", value: (bed) => bed.score, end: true },
  { key: "id", title: "Id", value: (bed) => bed.id, csvOnly: true },
  {
    key: "do",
    title: "Do",
    value: () => "never in a file",
    controls: true,
    cell: () => <button type="button">Edit</button>,
  },
];
let screen: Screen;
let saved: { name: string; text: Promise<string> }[] = [];

beforeEach(() => {
  saved = [];
  let last: Blob;
  URL.createObjectURL = (blob) => ((last = blob as Blob), "blob:x");
  URL.revokeObjectURL = () => {};
  HTMLElement.prototype.click = function (this: HTMLElement) {
    saved.push({ name: (this as HTMLAnchorElement).download, text: last.text() });
  };
  screen = new Screen(null);
});
afterEach(() => screen.leave());

const draw = (rows: Bed[], more: Partial<Parameters<typeof Table<Bed>>[0]> = {}) =>
  screen.draw(<Table noun="bed" rows={rows} columns={COLUMNS} rowKey={({ id }) => String(id)} file="beds" {...more} />);
const beds = (...of: [string, number | null][]) => of.map(([name, score], id) => ({ id, name, score }));
const shown = () => screen.all("tbody tr").map((row) => textOf(row.querySelector("td")!));
const WARD = beds(["Bed 10", 3], ["Bed 9", null], ["bed 1", -1]);

test("rows come as they are until an order is given", async () => {
  draw(WARD);
  assert.deepEqual(shown(), ["Bed 10", "Bed 9", "bed 1"]);
  assert.equal(screen.all("[aria-sort]").length, 0);
});

test("a head sorts up, then down, and another head begins from the start", async () => {
  draw(WARD);
  await screen.press("Name");
  assert.deepEqual(shown(), ["bed 1", "Bed 9", "Bed 10"]);
  assert.equal(screen.one("[aria-sort]").getAttribute("aria-sort"), "ascending");
  await screen.press("Name");
  assert.deepEqual(shown(), ["Bed 10", "Bed 9", "bed 1"]);
  assert.equal(screen.one("[aria-sort]").getAttribute("aria-sort"), "descending");
  await screen.press("Score");
  assert.deepEqual(shown(), ["bed 1", "Bed 10", "Bed 9"], "without a score last");
  await screen.press("Score");
  assert.deepEqual(shown(), ["Bed 10", "bed 1", "Bed 9"], "also when the highest come first");
});

test("an order that is given holds, and its head turns it", async () => {
  draw(WARD, { order: { key: "score", direction: "down" } });
  assert.deepEqual(shown(), ["Bed 10", "bed 1", "Bed 9"]);
  await screen.press("Score");
  assert.deepEqual(shown(), ["bed 1", "Bed 10", "Bed 9"]);
});

test("the filter says how many fit and when nothing does", async () => {
  draw(WARD);
  assert.match(textOf(screen.one("[role=status]")), /^3 beds$/);
  await screen.type("Filter beds", "BED 10");
  assert.deepEqual(shown(), ["Bed 10"]);
  assert.equal(textOf(screen.one("[role=status]")), "1 of 3 beds");
  await screen.type("Filter beds", "nobody");
  assert.match(screen.text, /Nothing fits “nobody”\./);
  await screen.type("Filter beds", "");
  assert.equal(shown().length, 3);
});

test("a filter also finds what only the file shows, and not what is no cell", async () => {
  draw(beds(["A", 1], ["B", 2]).map((bed) => ({ ...bed, id: bed.id + 700 })));
  await screen.type("Filter beds", "701");
  assert.deepEqual(shown(), ["B"]);
  await screen.type("Filter beds", "never");
  assert.deepEqual(shown(), []);
});

test("the file holds what fits, in the order of the screen, without buttons", async () => {
  draw([...WARD, { id: 9, name: '=HYPERLINK("x")', score: 0 }]);
  await screen.press("Name");
  await screen.press("CSV");
  assert.equal(saved[0]!.name, "beds.csv");
  assert.equal(
    await saved[0]!.text,
    'Name,Score,Id\r\n"\'=HYPERLINK(""x"")",0,9\r\nbed 1,-1,2\r\nBed 9,,1\r\nBed 10,3,0\r\n',
  );
});

test("of a thousand rows the screen shows two hundred at a time, the file all", async () => {
  draw(beds(...Array.from({ length: 1_000 }, (_, at): [string, number] => [`Bed ${at}`, at])));
  assert.equal(shown().length, 200);
  await screen.press("Show 200 more of 800");
  assert.equal(shown().length, 400);
  await screen.press("CSV");
  assert.equal((await saved[0]!.text).split("\r\n").length, 1_002);
  await screen.type("Filter beds", "Bed 999");
  assert.deepEqual(shown(), ["Bed 999"]);
  assert.equal(
    screen.all("button").some((one) => /more of/.test(textOf(one))),
    false,
  );
});

test("the last step shows what is left", async () => {
  draw(beds(...Array.from({ length: 201 }, (_, at): [string, number] => [`Bed ${at}`, at])));
  await screen.press("Show 1 more of 1");
  assert.equal(shown().length, 201);
});

test("a list without rows is no error", async () => {
  draw([], { filter: false });
  assert.match(screen.text, /0 beds/);
  await screen.press("CSV");
  assert.equal(await saved[0]!.text, "Name,Score,Id\r\n");
});

test("cells name themselves where heads are not seen, buttons do not", () => {
  draw(WARD.slice(0, 1));
  const labels = screen.all("td").map((cell) => cell.dataset.label);
  assert.deepEqual(labels, ["Name", "Score", undefined]);
});

test("names in any writing stay whole", async () => {
  const long = `مريض ${"x".repeat(300)}`;
  draw(beds([long, 1], ["אבי", 2], ["张伟", 3]));
  await screen.type("Filter beds", "אבי");
  assert.deepEqual(shown(), ["אבי"]);
  await screen.type("Filter beds", "مريض");
  assert.deepEqual(shown(), [long]);
  await settle();
});

test("a list of many columns becomes cards on a tablet, one of few on a phone only", async () => {
  const columns = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ key: `k${at}`, title: `K${at}`, value: () => at }));
  const hasCards = async (count: number, widthPx: number) => {
    const rem = (query: string) => Number(/max-width: (\d+)rem/.exec(query)![1]);
    const fits = (query: string) => ({
      matches: widthPx <= 16 * rem(query),
      addEventListener() {},
      removeEventListener() {},
    });
    Object.assign(globalThis, { matchMedia: fits });
    const shown = new Screen(<Table noun="row" rows={[{}]} columns={columns(count)} rowKey={() => "1"} file="f" />);
    await settle();
    const { className } = shown.one(".table-scroll");
    shown.leave();
    return /cards/.test(className);
  };
  const inTurn = async (count: number) => {
    const found: boolean[] = [];
    for (const px of [360, 768, 820, 1024]) found.push(await hasCards(count, px));
    return found;
  };
  const before = matchMedia;
  assert.deepEqual(await inTurn(9), [true, true, true, false]);
  assert.deepEqual(await inTurn(3), [true, false, false, false]);
  Object.assign(globalThis, { matchMedia: before });
});
