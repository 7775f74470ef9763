// The picture and what lies above it as an SVG: both are painted once more, by the same calls.

import { type Colour, cssColour } from "./palette.ts";
import { CanvasPen, FAMILY, LETTER_PX, type Lettering, type Pen, type Stroke } from "./pen.ts";
import { type Area, type Batch, type Box, type Raster, type Renderer, STRIDE } from "./renderer.ts";

/** The elements of a drawing, in the order in which they are painted. */
export class Drawing {
  private readonly parts: string[] = [];
  private clips = 0;

  add(element: string): void {
    this.parts.push(element);
  }

  /** Opens a group of which nothing is seen outside a box; close() ends it. */
  clip(x: number, y: number, width: number, height: number): void {
    const id = `clip${this.clips++}`;
    this.add(
      `<clipPath id="${id}"><rect${boxed(x, y, width, height)}/></clipPath><g clip-path="url(#${id})">`,
    );
  }

  close(): void {
    this.add("</g>");
  }

  /** The file. */
  finish(width: number, height: number): string {
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    const font = `font-family="${escaped(FAMILY)}" font-size="${LETTER_PX}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font}>\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

export class SVGRenderer implements Renderer {
  readonly name = "canvas";

  constructor(private readonly drawing: Drawing) {}

  begin(width: number, height: number, background: Colour): void {
    this.drawing.add(`<rect${boxed(0, 0, width, height)} fill="${cssColour(background)}"/>`);
  }

  clip(box: Box | null): void {
    if (box) this.drawing.clip(box.x, box.y, box.width, box.height);
    else this.drawing.close();
  }

  /** A path for each run of rectangles of one colour. */
  rects({ count, edges, colours }: Batch): void {
    let path = "";
    for (let i = 0; i < count; i++) {
      const [x0, y0, x1, y1] = edges.subarray(i * STRIDE, i * STRIDE + 4) as unknown as [
        number,
        number,
        number,
        number,
      ];
      path += `M${x0} ${y0}H${x1}V${y1}H${x0}Z`;
      const colour = colours[i * STRIDE + 4]!;
      if (i + 1 < count && colours[(i + 1) * STRIDE + 4] === colour) continue;
      this.drawing.add(`<path d="${path}" fill="${cssColour(colour)}"/>`);
      path = "";
    }
  }

  area({ count, x, low, high, colour }: Area): void {
    if (count === 0) return;
    let path = `M${x[0]} ${low[0]}`;
    for (let i = 0; i < count; i++) path += `V${high[i]}H${x[i + 1]}`;
    for (let i = count - 1; i >= 0; i--) path += `V${low[i]}H${x[i]}`;
    this.drawing.add(`<path d="${path}Z" fill="${cssColour(colour)}"/>`);
  }

  image(raster: Raster, part: Box, box: Box): void {
    const canvas = document.createElement("canvas");
    canvas.width = part.width;
    canvas.height = part.height;
    const pixels = new ImageData(raster.rgba, raster.width, raster.height);
    canvas.getContext("2d")!.putImageData(pixels, -part.x, -part.y);
    const place = boxed(box.x, box.y, box.width, box.height);
    this.drawing.add(
      `<image${place} preserveAspectRatio="none" style="image-rendering:pixelated" href="${canvas.toDataURL()}"/>`,
    );
  }

  end(): void {}

  close(): void {}
}

export class SVGPen implements Pen {
  /** Texts are measured on a canvas. */
  private readonly ruler = new CanvasPen(document.createElement("canvas").getContext("2d")!);

  constructor(private readonly drawing: Drawing) {}

  line(x0: number, y0: number, x1: number, y1: number, stroke: Stroke): void {
    this.drawing.add(`<path d="M${short(x0)} ${short(y0)}L${short(x1)} ${short(y1)}"${stroked(stroke)}/>`);
  }

  box(x: number, y: number, width: number, height: number, colour: string): void {
    if (width > 0 && height > 0) this.drawing.add(`<rect${boxed(x, y, width, height)} fill="${colour}"/>`);
  }

  frame(x: number, y: number, width: number, height: number, stroke: Stroke): void {
    this.drawing.add(`<rect${boxed(x, y, width, height)} fill="none"${stroked(stroke)}/>`);
  }

  shape(corners: readonly number[], colour: string): void {
    this.drawing.add(`<polygon points="${corners.map(short).join(" ")}" fill="${colour}"/>`);
  }

  text(text: string, x: number, y: number, { colour, align = "left", bold = false, halo }: Lettering): void {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const around = halo
      ? ` stroke="${halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`
      : "";
    const weight = bold ? ' font-weight="600"' : "";
    this.drawing.add(
      `<text x="${short(x)}" y="${short(y + 0.5)}" text-anchor="${anchor}" dominant-baseline="central" fill="${colour}"${weight}${around}>${escaped(text)}</text>`,
    );
  }

  measure(text: string, bold = false): number {
    return this.ruler.measure(text, bold);
  }

  within(x: number, y: number, width: number, height: number, paint: () => void): void {
    this.drawing.clip(x, y, width, height);
    paint();
    this.drawing.close();
  }
}

function boxed(x: number, y: number, width: number, height: number): string {
  return ` x="${short(x)}" y="${short(y)}" width="${short(Math.max(0, width))}" height="${short(Math.max(0, height))}"`;
}

function stroked({ colour, width = 1, dash = [] }: Stroke): string {
  const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  return ` stroke="${colour}" stroke-width="${width}"${dashes}`;
}

/** A number with at most two decimals. */
function short(n: number): string {
  return String(Math.round(n * 100) / 100);
}

/** A text within an element or an attribute. XML has no way to write control characters; names from a file may hold them. */
function escaped(text: string): string {
  const signs: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, "\ufffd").replace(/[&<>"]/g, (sign) => signs[sign]!);
}
