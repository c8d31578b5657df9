// Draws a component into a page and does with it what a person would: look for words, press, type.

import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";

/** Lets everything that is under way come to its end: promises, drawings, effects. Timers do not move. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await act(() => new Promise<void>((resume) => setImmediate(resume)));
}

export class Screen {
  readonly root = document.createElement("div");

  constructor(content: ComponentChild) {
    document.body.append(this.root);
    this.draw(content);
  }

  /** Draws something else, or the same with other props. */
  draw(content: ComponentChild): void {
    void act(() => render(content, this.root));
  }

  /** Takes it off the page, as a step to another one would. */
  leave(): void {
    void act(() => render(null, this.root));
    this.root.remove();
  }

  /** What can be read, blanks as one. */
  get text(): string {
    return textOf(this.root);
  }

  all<E extends Element = HTMLElement>(selector: string): E[] {
    return [...this.root.querySelectorAll<E>(selector)];
  }

  /** The one element that fits. */
  one<E extends Element = HTMLElement>(selector: string): E {
    const found = this.all<E>(selector);
    if (found.length !== 1) throw new Error(`${found.length} elements fit ${selector} in: ${this.root.innerHTML}`);
    return found[0]!;
  }

  /** The button or link whose words or label are `name`. */
  button(name: string): HTMLButtonElement {
    const found = this.all<HTMLButtonElement>("button, a[href]").filter(
      (one) => textOf(one) === name || one.getAttribute("aria-label") === name,
    );
    if (found.length !== 1) throw new Error(`${found.length} buttons are called ${name} in: ${this.text}`);
    return found[0]!;
  }

  /** The input, select or textarea with a label. */
  field<E extends Element = HTMLInputElement>(label: string): E {
    const labels = this.all<HTMLLabelElement>("label").filter((one) => textOf(one) === label);
    const found = labels.map((one) => document.getElementById(one.htmlFor) ?? one.querySelector("input, select"));
    if (found.length !== 1) throw new Error(`${found.length} fields are called ${label} in: ${this.text}`);
    return found[0] as unknown as E;
  }

  async press(target: string | Element): Promise<void> {
    const element = typeof target === "string" ? this.button(target) : target;
    await act(() => void element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })));
    await settle();
  }

  async key(key: string, target: Element = document.activeElement!): Promise<KeyboardEvent> {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    await act(() => void target.dispatchEvent(event));
    await settle();
    return event;
  }

  /** Writes into a field, in place of what is there. */
  async type(label: string, text: string): Promise<void> {
    const field = this.field<HTMLInputElement>(label);
    field.value = text;
    await act(() => void field.dispatchEvent(new Event("input", { bubbles: true })));
    await settle();
  }

  /** Chooses from a select, or sets a box. */
  async choose(label: string, value: string | boolean): Promise<void> {
    const field = this.field<HTMLInputElement>(label);
    if (typeof value === "boolean") field.checked = value;
    else field.value = value;
    await act(() => void field.dispatchEvent(new Event("change", { bubbles: true })));
    await settle();
  }

  async submit(): Promise<void> {
    await act(() => void this.one("form").dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
    await settle();
  }
}

export function textOf(element: Element): string {
  return (element.textContent ?? "").replace(/\s+/g, " ").trim();
}
