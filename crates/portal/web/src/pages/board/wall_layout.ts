// How a wall of patients is laid out, from the size of the screen and their number. Patients in need of a look are always on
// it; columns of a tile are dropped before a patient is; the others take turns where they do not all fit.

/** What a tile shows: every vital sign; those that come all the time; or the score alone. */
export type Detail = "all" | "some" | "score";

/** Tiles of one kind. */
export interface Zone {
  detail: Detail;
  columns: number;
  /** How many fit. */
  places: number;
}

/** A layout: the size of the digits, px, and one zone or two. */
export interface Layout {
  font: number;
  /** Who is always shown; everybody, where there is no zone of others. */
  first: Zone;
  /** Who takes turns. */
  others: Zone | null;
}

/** The room for tiles, px, and the height of the whole screen. */
export interface Room {
  width: number;
  height: number;
  screen: number;
}

/** Width and height of a tile, in sizes of the digits' font, the distance to the next one included. */
const TILES: Record<Detail, { width: number; height: number }> = {
  all: { width: 15.5, height: 4.7 },
  some: { width: 10.5, height: 4.7 },
  score: { width: 8.5, height: 2.5 },
};

// 22 px of digit height at 1080p on a 55-inch screen are 16 arc minutes for a reader at 3 m; a digit is 0.73 of its font.
// Larger screens have larger pixels or more of them, so the size goes with the height of the screen.
const LEAST_FONT = 30 / 1080;
/** 20 arc minutes, which are read with ease. */
const WANTED_FONT = 37.5 / 1080;
/** Larger ones are no easier to read and leave no room for a second look. */
const LARGEST_FONT = 120 / 1080;

/** The layout for `urgent` patients who are always shown, among `count` in all. */
export function layoutOf(count: number, urgent: number, room: Room): Layout {
  const least = LEAST_FONT * room.screen;
  // With every vital sign where that is read with ease, and rather smaller than without some of them.
  const wishes: [Detail, number][] = [
    ["all", WANTED_FONT * room.screen],
    ["all", least],
    ["some", least],
  ];
  for (const [detail, font] of wishes) {
    const found = largest(count, detail, room);
    if (found >= font) return whole(count, detail, Math.min(found, LARGEST_FONT * room.screen), room);
  }
  const others = count - urgent;
  // Then the sick with their vital signs, and the others by score below them: all at once, or at least two rows in turn.
  for (const inTurn of [false, true]) {
    for (const detail of ["all", "some", "score"] as const) {
      const first = zone(detail, least, { ...room, height: heightOf(urgent, detail, least, room) });
      const rest = { ...room, height: room.height - heightOf(urgent, detail, least, room) };
      const second = zone("score", least, rest);
      const wanted = inTurn ? Math.min(others, 2 * second.columns) : others;
      if (first.places >= urgent && rest.height >= 0 && second.places >= wanted) {
        return { font: least, first: { ...first, places: urgent }, others: others > 0 ? second : null };
      }
    }
  }
  // More who need a look than a screen has room for: smaller digits, and never a patient too few.
  const font = largest(Math.max(urgent, 1), "score", room);
  return { font, first: { ...zone("score", font, room), places: urgent }, others: null };
}

function whole(count: number, detail: Detail, font: number, room: Room): Layout {
  return { font, first: { ...zone(detail, font, room), places: count }, others: null };
}

/** The tiles of a kind that fit. */
function zone(detail: Detail, font: number, room: Room): Zone {
  const { width, height } = TILES[detail];
  const columns = Math.max(1, whereFits(room.width, width * font));
  return { detail, columns, places: columns * whereFits(room.height, height * font) };
}

function heightOf(count: number, detail: Detail, font: number, room: Room): number {
  const columns = Math.max(1, whereFits(room.width, TILES[detail].width * font));
  return Math.ceil(count / columns) * TILES[detail].height * font;
}

/** The largest digits with which so many tiles of a kind fit. */
function largest(count: number, detail: Detail, { width, height }: Room): number {
  let best = 0;
  for (let columns = 1; columns <= Math.max(count, 1); columns += 1) {
    const rows = Math.ceil(Math.max(count, 1) / columns);
    best = Math.max(best, Math.min(width / (columns * TILES[detail].width), height / (rows * TILES[detail].height)));
  }
  return best;
}

// A size that was made to fit exactly must not miss by a rounding.
const whereFits = (length: number, part: number) => Math.floor(length / part + 1e-6);

/** The entries of a list that a turn shows, in places of which none is left empty for long. */
export function turnOf<T>(others: T[], places: number, turn: number): { shown: T[]; page: number; pages: number } {
  if (places <= 0) return { shown: [], page: 0, pages: 0 };
  const pages = Math.max(1, Math.ceil(others.length / places));
  const page = turn % pages;
  return { shown: others.slice(page * places, (page + 1) * places), page, pages };
}
