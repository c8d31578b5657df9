// Which patients a page of the wall display shows: those who need a look always, the others in turn.

/** A page of a sorted list whose first `urgent` entries belong on every page. */
export function pageOf<T>(
  sorted: T[],
  urgent: number,
  fits: number,
  turn: number,
): { shown: T[]; page: number; pages: number } {
  if (sorted.length <= fits) return { shown: sorted, page: 0, pages: 1 };
  // Half of the places at most, so that nobody waits for ever.
  const kept = Math.min(urgent, Math.floor(fits / 2));
  const places = Math.max(fits - kept, 1);
  const others = sorted.slice(kept);
  const pages = Math.ceil(others.length / places);
  const page = turn % pages;
  return { shown: [...sorted.slice(0, kept), ...others.slice(page * places, (page + 1) * places)], page, pages };
}
