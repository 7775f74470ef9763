// What pictures are drawn with: three calls, in pixels of the screen, and two back ends that
// paint the same pixels. Text, ticks, tooltips and what follows the pointer lie above, on a
// canvas of their own.

import type { Colour } from "./palette.ts";

/** A rectangle in pixels, whole numbers. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Numbers per rectangle in a batch: x0, y0, x1, y1 and its colour. */
export const STRIDE = 5;

/** Rectangles in the order in which they are painted. */
export class Batch {
  private bytes: ArrayBuffer;
  /** Edges of rectangle i from STRIDE * i on. */
  edges: Float32Array;
  /** Colour of rectangle i at STRIDE * i + 4: the same memory as edges. */
  colours: Uint32Array;
  count = 0;

  constructor(capacity = 1024) {
    this.bytes = new ArrayBuffer(capacity * STRIDE * 4);
    this.edges = new Float32Array(this.bytes);
    this.colours = new Uint32Array(this.bytes);
  }

  /** Adds a rectangle, its edges rounded to pixels and at least one pixel apart. */
  add(x0: number, y0: number, x1: number, y1: number, colour: Colour): void {
    if ((this.count + 1) * STRIDE > this.edges.length) this.grow();
    const at = this.count++ * STRIDE;
    const left = Math.round(x0);
    const top = Math.round(y0);
    this.edges[at] = left;
    this.edges[at + 1] = top;
    this.edges[at + 2] = Math.max(left + 1, Math.round(x1));
    this.edges[at + 3] = Math.max(top + 1, Math.round(y1));
    this.colours[at + 4] = colour;
  }

  clear(): void {
    this.count = 0;
  }

  private grow(): void {
    const wider = new ArrayBuffer(this.bytes.byteLength * 2);
    new Uint8Array(wider).set(new Uint8Array(this.bytes));
    this.bytes = wider;
    this.edges = new Float32Array(wider);
    this.colours = new Uint32Array(wider);
  }
}

/** Steps between two heights: from x[i] to x[i+1] what lies between low[i] and high[i]. */
export interface Area {
  readonly count: number;
  readonly x: Float32Array;
  readonly low: Float32Array;
  readonly high: Float32Array;
  readonly colour: Colour;
}

/** A picture of pixels. It must not be changed once drawn: back ends keep a copy of it. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8ClampedArray<ArrayBuffer>;
}

export interface Renderer {
  readonly name: "canvas" | "webgl";
  /** Begins a frame of so many pixels, all of one colour. */
  begin(width: number, height: number, background: Colour): void;
  /** From now on nothing is painted outside the box; null ends that. */
  clip(box: Box | null): void;
  rects(batch: Batch): void;
  area(area: Area): void;
  /** Paints part from of the raster into the box, with sharp pixels; part is in pixels of the raster. */
  image(raster: Raster, part: Box, box: Box): void;
  end(): void;
  /** Lets go of what the graphics card holds. */
  close(): void;
}
