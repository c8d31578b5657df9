// Colours of the drawing, read from the page's tokens and kept until the theme changes: a chart asks for the same few
// again and again while it draws.

import { colourOf } from "../design/colour";

const read = new Map<string, string>();

/** The colour of a token such as `signal-spo2`, as `rgb(…)`. */
export function token(name: string): string {
  const colour = read.get(name) ?? colourOf(`--${name}`);
  read.set(name, colour);
  return colour;
}

/** The family of the page's text. */
export function font(): string {
  const family = read.get("font") ?? getComputedStyle(document.body).fontFamily;
  read.set("font", family);
  return family;
}

/** Has every colour read again, after the theme has changed. */
export function forgetColours(): void {
  read.clear();
}

/** A colour made transparent. */
export function faded(colour: string, alpha: number): string {
  const parts = /^rgba?\((\d+), (\d+), (\d+)/.exec(colour);
  return parts ? `rgba(${parts[1]}, ${parts[2]}, ${parts[3]}, ${alpha})` : colour;
}
