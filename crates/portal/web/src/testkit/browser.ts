// A window for tests of what needs one. Imported before everything that is tested: it puts a document and what belongs to
// it where modules look for them. Timers and the clock stay those of Node, so that a test can hold them.

import { Window } from "happy-dom";

// Local times of the reader are tested where clocks change.
process.env.TZ = "Europe/Zurich";

const page = new Window({ url: "http://portal.example/", innerWidth: 1280, innerHeight: 800 });
const bound = (
  name: "addEventListener" | "removeEventListener" | "dispatchEvent" | "getComputedStyle" | "matchMedia",
) => (page[name] as (...args: unknown[]) => unknown).bind(page);

const parts: Record<string, unknown> = {
  window: globalThis,
  document: page.document,
  location: page.location,
  history: page.history,
  navigator: page.navigator,
  localStorage: page.localStorage,
  sessionStorage: page.sessionStorage,
  addEventListener: bound("addEventListener"),
  removeEventListener: bound("removeEventListener"),
  dispatchEvent: bound("dispatchEvent"),
  getComputedStyle: bound("getComputedStyle"),
  matchMedia: bound("matchMedia"),
  innerHeight: page.innerHeight,
  innerWidth: page.innerWidth,
  devicePixelRatio: 1,
  scrollTo: () => {},
  requestAnimationFrame: (then: (atMs: number) => void) => setTimeout(() => then(Date.now()), 16),
  cancelAnimationFrame: (timer: number) => clearTimeout(timer),
  Node: page.Node,
  Element: page.Element,
  HTMLElement: page.HTMLElement,
  SVGElement: page.SVGElement,
  Event: page.Event,
  CustomEvent: page.CustomEvent,
  MouseEvent: page.MouseEvent,
  KeyboardEvent: page.KeyboardEvent,
  // Node's own would keep the process alive.
  BroadcastChannel: class {
    onmessage: unknown = null;
    postMessage() {}
    close() {}
  },
  ResizeObserver: class {
    constructor(private readonly reported: (entries: { contentRect: { width: number } }[]) => void) {}
    observe() {
      this.reported([{ contentRect: { width: 800 } }]);
    }
    disconnect() {}
  },
};
for (const [name, value] of Object.entries(parts)) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

// The rows and cells of tables, which happy-dom does not list.
const listed = (tags: string[]) => ({
  get(this: Element) {
    return [...this.children].filter((child) => tags.includes(child.tagName));
  },
});
const rowIndex = {
  get(this: Element) {
    return [...this.closest("table")!.querySelectorAll("tr")].indexOf(this as HTMLTableRowElement);
  },
};
Object.defineProperty(page.HTMLTableSectionElement.prototype, "rows", listed(["TR"]));
Object.defineProperties(page.HTMLTableRowElement.prototype, { cells: listed(["TH", "TD"]), rowIndex });

/** Does something in a browser that keeps a storage from pages: reading its name already fails. */
export async function withoutStorage(name: "localStorage" | "sessionStorage", then: () => unknown): Promise<void> {
  const before = Object.getOwnPropertyDescriptor(globalThis, name)!;
  const get = () => {
    throw new Error("denied");
  };
  Object.defineProperty(globalThis, name, { get, configurable: true });
  try {
    await then();
  } finally {
    Object.defineProperty(globalThis, name, before);
  }
}

/** Goes to an address of the portal, as if it had been opened there. */
export function openAt(address: string): void {
  history.replaceState(null, "", address);
}
