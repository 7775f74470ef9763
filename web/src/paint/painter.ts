// Pictures of boxes with words in them, drawn by the same calls on a canvas and as SVG, so that what is
// saved is what is seen. Lengths are CSS pixels, colours are style sheet text.

export interface Painter {
  rect(x: number, y: number, width: number, height: number, fill: string): void;
  /** Slanted lines on what is there: free memory. */
  hatch(x: number, y: number, width: number, height: number, colour: string): void;
  outline(x: number, y: number, width: number, height: number, colour: string, line: number): void;
  /** Words that begin at x and stand with their middle at y, cut with "…" where they are wider than room. */
  text(words: string, x: number, y: number, colour: string, room: number, bold?: boolean): void;
  /** Whether words have room: those that would be cut are better left out where there are many. */
  fits(words: string, room: number): boolean;
}

const fontSize = 11;
/** Distance of the lines of a hatch. */
const hatchStep = 6;
/** Words narrower than this say nothing. */
const leastRoom = 16;

function fontOf(bold: boolean, family: string): string {
  return `${bold ? "600 " : ""}${fontSize}px ${family}`;
}

export class CanvasPainter implements Painter {
  private readonly hatches = new Map<string, CanvasPattern | null>();

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly family: string,
  ) {
    context.textBaseline = "middle";
  }

  rect(x: number, y: number, width: number, height: number, fill: string): void {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  hatch(x: number, y: number, width: number, height: number, colour: string): void {
    const pattern = this.pattern(colour);
    if (pattern) this.rect(x, y, width, height, pattern as unknown as string);
  }

  outline(x: number, y: number, width: number, height: number, colour: string, line: number): void {
    this.context.strokeStyle = colour;
    this.context.lineWidth = line;
    this.context.strokeRect(
      x + line / 2,
      y + line / 2,
      Math.max(0, width - line),
      Math.max(0, height - line),
    );
  }

  text(words: string, x: number, y: number, colour: string, room: number, bold = false): void {
    if (room < leastRoom) return;
    this.context.font = fontOf(bold, this.family);
    this.context.fillStyle = colour;
    this.context.fillText(
      fitted(words, room, (text) => this.context.measureText(text).width),
      x,
      y,
    );
  }

  fits(words: string, room: number): boolean {
    this.context.font = fontOf(false, this.family);
    return this.context.measureText(words).width <= room;
  }

  private pattern(colour: string): CanvasPattern | null {
    const known = this.hatches.get(colour);
    if (known !== undefined) return known;
    const tile = document.createElement("canvas");
    tile.width = hatchStep;
    tile.height = hatchStep;
    const context = tile.getContext("2d");
    if (context) drawHatch(context, colour);
    const pattern = this.context.createPattern(tile, "repeat");
    this.hatches.set(colour, pattern);
    return pattern;
  }
}

function drawHatch(context: CanvasRenderingContext2D, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (const shift of [-hatchStep, 0, hatchStep]) {
    context.moveTo(shift, hatchStep);
    context.lineTo(shift + hatchStep, 0);
  }
  context.stroke();
}

/** The longest beginning of words that is no wider than room, with "…" where something is left out. */
export function fitted(words: string, room: number, width: (text: string) => number): string {
  if (width(words) <= room) return words;
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (width(`${words.slice(0, middle)}…`) <= room) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `${words.slice(0, low)}…`;
}

/** The width of a character, on average: SVG is laid out by whoever shows it. */
const averageWidth = 5.9;

export class SVGPainter implements Painter {
  private readonly parts: string[] = [];
  private readonly hatches = new Map<string, string>();

  constructor(private readonly family: string) {}

  rect(x: number, y: number, width: number, height: number, fill: string): void {
    this.parts.push(`<rect ${place(x, y, width, height)} fill="${escaped(fill)}"/>`);
  }

  hatch(x: number, y: number, width: number, height: number, colour: string): void {
    let id = this.hatches.get(colour);
    if (!id) {
      id = `hatch${this.hatches.size}`;
      this.hatches.set(colour, id);
    }
    this.parts.push(`<rect ${place(x, y, width, height)} fill="url(#${id})"/>`);
  }

  outline(x: number, y: number, width: number, height: number, colour: string, line: number): void {
    const box = place(x + line / 2, y + line / 2, Math.max(0, width - line), Math.max(0, height - line));
    this.parts.push(`<rect ${box} fill="none" stroke="${escaped(colour)}" stroke-width="${line}"/>`);
  }

  text(words: string, x: number, y: number, colour: string, room: number, bold = false): void {
    if (room < leastRoom) return;
    const shown = escaped(fitted(words, room, (text) => text.length * averageWidth));
    const weight = bold ? ' font-weight="600"' : "";
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" dy="0.35em" fill="${escaped(colour)}"${weight}>${shown}</text>`,
    );
  }

  fits(words: string, room: number): boolean {
    return words.length * averageWidth <= room;
  }

  /** What lies below top, on a ground of one colour. */
  finish(width: number, height: number, top: number, ground: string): string {
    const patterns = [...this.hatches].map(([colour, id]) => hatchPattern(id, colour)).join("");
    const size = `width="${short(width)}" height="${short(height)}"`;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${short(width)} ${short(height)}"` +
      ` font-family="${escaped(this.family)}" font-size="${fontSize}"><defs>${patterns}</defs>` +
      `<rect ${size} fill="${escaped(ground)}"/><g transform="translate(0 ${short(-top)})">${this.parts.join("")}</g></svg>`
    );
  }
}

function hatchPattern(id: string, colour: string): string {
  const s = hatchStep;
  const lines = `M${-s} ${s}L0 0M0 ${s}L${s} 0M${s} ${s}L${2 * s} 0`;
  return (
    `<pattern id="${id}" width="${s}" height="${s}" patternUnits="userSpaceOnUse">` +
    `<path d="${lines}" stroke="${escaped(colour)}"/></pattern>`
  );
}

function place(x: number, y: number, width: number, height: number): string {
  return `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
}

function short(n: number): string {
  return String(Math.round(n * 100) / 100);
}

function escaped(text: string): string {
  return text.replace(
    /[&<>"]/g,
    (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign] ?? sign,
  );
}
