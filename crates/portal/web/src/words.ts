// How people look for names in a list: by words in any order, in an order that counts as they do.

const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Orders two texts: `Bed 9` before `Bed 10`, whatever their case. */
export function compareText(left: string, right: string): number {
  return COLLATOR.compare(left, right);
}

/** The words of a search. */
export function wordsOf(search: string): string[] {
  return search.toLocaleLowerCase().split(/\s+/).filter(Boolean);
}

/** Whether a text holds every word of a search, whatever its case. */
export function holdsAll(text: string, words: string[]): boolean {
  const lower = text.toLocaleLowerCase();
  return words.every((word) => lower.includes(word));
}
