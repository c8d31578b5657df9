// A token's colour as the canvas needs it. A canvas cannot read custom properties, and `light-dark()` is only decided
// where it is used as a colour, so a hidden element is asked.

let probe: HTMLElement | null = null;

/** The colour of a token (`--signal-spo2`) in the theme that is shown, as `rgb(…)`. */
export function colourOf(token: string): string {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}
