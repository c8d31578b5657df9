// A canvas that remembers what is drawn on it, for the drawings of charts. A picture cannot be compared by eye in a test;
// which rectangles have which colour can.

export interface Drawn {
  what: string;
  colour: string;
  at: number[];
  text?: string;
}

export class Canvas {
  fillStyle = "";
  strokeStyle = "";
  font = "";
  textAlign = "";
  textBaseline = "";
  lineWidth = 1;
  readonly drawn: Drawn[] = [];
  /** Open states: a drawing that leaves one changes all that come after it. */
  depth = 0;
  private lines: number[] = [];

  save() {
    this.depth += 1;
  }
  restore() {
    this.depth -= 1;
  }
  beginPath() {
    this.lines = [];
  }
  moveTo(x: number, y: number) {
    this.lines.push(x, y);
  }
  lineTo(x: number, y: number) {
    this.lines.push(x, y);
  }
  rect() {}
  clip() {}
  translate() {}
  rotate(angle: number) {
    this.drawn.push({ what: "rotate", colour: "", at: [angle] });
  }
  stroke() {
    this.drawn.push({ what: "stroke", colour: this.strokeStyle, at: this.lines });
  }
  fillRect(...at: number[]) {
    this.drawn.push({ what: "rect", colour: this.fillStyle, at });
  }
  fillText(text: string, ...at: number[]) {
    this.drawn.push({ what: "text", colour: this.fillStyle, at, text });
  }
  /** Six pixels a letter. */
  measureText(text: string) {
    return { width: 6 * text.length };
  }

  of(what: string): Drawn[] {
    return this.drawn.filter((one) => one.what === what);
  }
}

/** The part of a uPlot that a drawing reads: `x` from 0 to 1000 ms over `width` pixels, `y` one step for ten pixels. */
export function plotOn(canvas: Canvas, { width = 1_000, height = 100, left = 0, spanMs = 1_000 } = {}) {
  return {
    ctx: canvas,
    bbox: { left, top: 0, width, height },
    valToPos: (value: number, scale: string) =>
      scale === "x" ? left + (value / spanMs) * width : height - 10 * value - 5,
  };
}
