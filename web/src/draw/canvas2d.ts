// Draws with the 2D canvas. Edges are whole pixels, so nothing is smoothed.

import { type Colour, cssColour } from "./palette.ts";
import { type Area, type Batch, type Box, type Raster, type Renderer, STRIDE } from "./renderer.ts";

export class Canvas2D implements Renderer {
  readonly name = "canvas";
  private readonly context: CanvasRenderingContext2D;
  private readonly styles = new Map<Colour, string>();
  private readonly rasters = new WeakMap<Raster, HTMLCanvasElement>();

  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser has no 2D canvas");
    this.context = context;
  }

  begin(width: number, height: number, background: Colour): void {
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.context.imageSmoothingEnabled = false;
    this.context.fillStyle = this.style(background);
    this.context.fillRect(0, 0, width, height);
  }

  clip(box: Box | null): void {
    if (!box) {
      this.context.restore();
      return;
    }
    this.context.save();
    this.context.beginPath();
    this.context.rect(box.x, box.y, box.width, box.height);
    this.context.clip();
  }

  rects(batch: Batch): void {
    let last: Colour | undefined;
    for (let i = 0; i < batch.count; i++) {
      const at = i * STRIDE;
      const colour = batch.colours[at + 4]!;
      if (colour !== last) this.context.fillStyle = this.style(colour);
      last = colour;
      const x = batch.edges[at]!;
      const y = batch.edges[at + 1]!;
      this.context.fillRect(x, y, batch.edges[at + 2]! - x, batch.edges[at + 3]! - y);
    }
  }

  /** One path around all steps: along the upper edge, and back along the lower. */
  area({ count, x, low, high, colour }: Area): void {
    if (count === 0) return;
    const path = new Path2D();
    path.moveTo(x[0]!, low[0]!);
    for (let i = 0; i < count; i++) {
      path.lineTo(x[i]!, high[i]!);
      path.lineTo(x[i + 1]!, high[i]!);
    }
    for (let i = count - 1; i >= 0; i--) {
      path.lineTo(x[i + 1]!, low[i]!);
      path.lineTo(x[i]!, low[i]!);
    }
    this.context.fillStyle = this.style(colour);
    this.context.fill(path);
  }

  image(raster: Raster, part: Box, box: Box): void {
    this.context.drawImage(
      this.canvasOf(raster),
      ...([part.x, part.y, part.width, part.height] as const),
      ...([box.x, box.y, box.width, box.height] as const),
    );
  }

  end(): void {}

  close(): void {}

  private canvasOf(raster: Raster): HTMLCanvasElement {
    let canvas = this.rasters.get(raster);
    if (!canvas) {
      canvas = document.createElement("canvas");
      canvas.width = raster.width;
      canvas.height = raster.height;
      canvas.getContext("2d")!.putImageData(new ImageData(raster.rgba, raster.width, raster.height), 0, 0);
      this.rasters.set(raster, canvas);
    }
    return canvas;
  }

  private style(colour: Colour): string {
    let style = this.styles.get(colour);
    if (style === undefined) {
      style = cssColour(colour);
      this.styles.set(colour, style);
    }
    return style;
  }
}
