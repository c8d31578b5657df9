// Whether what a page shows is where it can be seen and pressed: nothing wider than the panel or the screen that it is
// in, every control under the pointer that goes for it.

/** What may be wider than its place, since it scrolls by itself and has to: the days of a heat map, tabs on a phone. */
const SCROLLERS = ".heat-scroll, .tabs, pre, textarea";

/** Elements that stick out of their panel or of the screen, as lines to read; of those within one another the outermost. */
export function outOfPlace(page) {
  return page.evaluate((scrollers) => {
    // The heads of tables whose rows are cards, the link past the navigation: there for screen readers alone.
    const isClipped = (one) => one !== null && (getComputedStyle(one).clipPath !== "none" || one.matches(".skip") || isClipped(one.parentElement));
    const found = [];
    for (const element of document.querySelectorAll("body *")) {
      const box = element.getBoundingClientRect();
      const hidden = box.width <= 1 || box.height <= 1 || !element.checkVisibility() || isClipped(element);
      const scroller = element.closest(scrollers);
      if (hidden || (scroller && scroller !== element) || element.closest("svg") !== null) continue;
      // A chart paints beyond its plot and is cut there.
      if (element.closest(".uplot, .ruler")) continue;
      const panel = element.parentElement.closest(".panel, .charts, .dialog");
      const right = Math.min(panel?.getBoundingClientRect().right ?? innerWidth, innerWidth);
      const left = Math.max(panel?.getBoundingClientRect().left ?? 0, 0);
      const out = Math.round(Math.max(box.right - right, left - box.left));
      if (out <= 1 || found.some(({ element: outer }) => outer.contains(element))) continue;
      const name = `${element.tagName.toLowerCase()}.${[...element.classList].join(".")}`;
      found.push({ element, line: `${name} "${element.textContent.slice(0, 30)}" sticks out by ${out} px` });
    }
    const wide = document.documentElement.scrollWidth - innerWidth;
    return [...found.map(({ line }) => line), ...(wide > 0 ? [`the page is ${wide} px too wide`] : [])];
  }, SCROLLERS);
}

/** Controls that cannot be pressed after scrolling to them, as lines to read. */
export function outOfReach(page) {
  return page.evaluate(() => {
    const isClipped = (one) => one !== null && (getComputedStyle(one).clipPath !== "none" || one.matches(".skip") || isClipped(one.parentElement));
    const found = [];
    for (const element of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
      if (!element.checkVisibility() || element.disabled || isClipped(element)) continue;
      element.scrollIntoView({ block: "center", inline: "nearest" });
      // A link of several lines is where its first line is.
      const box = element.getClientRects()[0];
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      const hit = document.elementFromPoint(x, y);
      const label = hit?.closest("label");
      if (hit && (element.contains(hit) || hit.contains(element) || label?.control === element)) continue;
      const what = element.getAttribute("aria-label") ?? element.textContent.trim();
      found.push(`"${what.slice(0, 40)}" at ${Math.round(x)}, ${Math.round(y)} is under ${hit?.className ?? "nothing"}`);
    }
    scrollTo(0, 0);
    return found;
  });
}
