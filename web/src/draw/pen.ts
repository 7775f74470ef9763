// Text, rules and signs above a picture, in CSS pixels: what a canvas and an SVG can both do.

export interface Stroke {
  readonly colour: string;
  readonly width?: number;
  /** Lengths of dashes and gaps. */
  readonly dash?: readonly number[];
}

export interface Lettering {
  readonly colour: string;
  readonly align?: "left" | "center" | "right";
  readonly bold?: boolean;
  /** A colour painted around the letters, where they lie on a picture. */
  readonly halo?: string;
}

export interface Pen {
  line(x0: number, y0: number, x1: number, y1: number, stroke: Stroke): void;
  box(x: number, y: number, width: number, height: number, colour: string): void;
  frame(x: number, y: number, width: number, height: number, stroke: Stroke): void;
  /** A filled shape with corners x, y, x, y… */
  shape(corners: readonly number[], colour: string): void;
  /** Letters of 11 pixels, centred vertically on y. */
  text(text: string, x: number, y: number, lettering: Lettering): void;
  /** Width of a text. */
  measure(text: string, bold?: boolean): number;
  /** Nothing is seen outside the box until done is called. */
  within(x: number, y: number, width: number, height: number, paint: () => void): void;
}

export const LETTER_PX = 11;

export const FAMILY =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';

export class CanvasPen implements Pen {
  private readonly widths = new Map<string, number>();

  constructor(private readonly context: CanvasRenderingContext2D) {}

  line(x0: number, y0: number, x1: number, y1: number, { colour, width = 1, dash = [] }: Stroke): void {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash([...dash]);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  }

  box(x: number, y: number, width: number, height: number, colour: string): void {
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
  }

  frame(x: number, y: number, width: number, height: number, stroke: Stroke): void {
    const { context } = this;
    context.strokeStyle = stroke.colour;
    context.lineWidth = stroke.width ?? 1;
    context.setLineDash([...(stroke.dash ?? [])]);
    context.strokeRect(x, y, width, height);
  }

  shape(corners: readonly number[], colour: string): void {
    const { context } = this;
    context.fillStyle = colour;
    context.beginPath();
    for (let i = 0; i < corners.length; i += 2) context.lineTo(corners[i]!, corners[i + 1]!);
    context.closePath();
    context.fill();
  }

  text(text: string, x: number, y: number, { colour, align = "left", bold = false, halo }: Lettering): void {
    const { context } = this;
    context.font = font(bold);
    context.textAlign = align;
    context.textBaseline = "middle";
    if (halo) {
      context.setLineDash([]);
      context.lineJoin = "round";
      context.strokeStyle = halo;
      context.lineWidth = 3;
      context.strokeText(text, x, y + 0.5);
    }
    context.fillStyle = colour;
    context.fillText(text, x, y + 0.5);
  }

  measure(text: string, bold = false): number {
    const key = `${bold}${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      if (this.widths.size > 2000) this.widths.clear();
      this.context.font = font(bold);
      width = this.context.measureText(text).width;
      this.widths.set(key, width);
    }
    return width;
  }

  within(x: number, y: number, width: number, height: number, paint: () => void): void {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    paint();
    context.restore();
  }
}

function font(bold: boolean): string {
  return `${bold ? "600 " : ""}${LETTER_PX}px ${FAMILY}`;
}

/** Room for less than three letters. */
const LEAST_TEXT_PX = 18;

/** The text, or as much of it as fits with "…" behind; "" where not even that would say something. */
export function fitted(pen: Pen, text: string, width: number): string {
  if (width < LEAST_TEXT_PX) return "";
  if (pen.measure(text) <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measure(`${text.slice(0, middle)}…`) <= width) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? "" : `${text.slice(0, low)}…`;
}
