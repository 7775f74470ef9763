// Draws fixed data with each back end, for backends.test.ts, which has it built for the browser.

import { Canvas2D } from "../src/draw/canvas2d.ts";
import { Batch, type Renderer } from "../src/draw/renderer.ts";
import { WebGL2 } from "../src/draw/webgl2.ts";

const WIDTH = 160;
const HEIGHT = 120;

/** Rectangles that overlap and let through what lies below them. */
function drawRects(renderer: Renderer): void {
  const batch = new Batch(4);
  for (let i = 0; i < 12; i++)
    batch.add(4 + 12 * i, 4 + 3 * i, 22.4 + 12 * i, 30.6 + 2 * i, 0x99000000 | ((i * 0x151f0b) & 0xffffff));
  batch.add(150, 4, 150.2, 4.3, 0xff0000ff); // less than a pixel is one
  renderer.rects(batch);
}

function drawArea(renderer: Renderer): void {
  const count = 30;
  const x = Float32Array.from({ length: count + 1 }, (_, i) => 5 * i);
  const high = Float32Array.from({ length: count }, (_, i) => 70 + Math.round(12 * Math.sin(i / 2)));
  const low = Float32Array.from({ length: count }, (_, i) => (i % 7 === 0 ? high[i]! : 92));
  renderer.area({ count, x, low, high, colour: 0xff7a3b12 });
}

/** Part of a raster, four pixels for each of its own, with a hole that shows what lies below. */
function drawImage(renderer: Renderer): void {
  const rgba = new Uint8ClampedArray(16 * 8 * 4);
  for (let i = 0; i < 128; i++) rgba.set([i * 2, 255 - i, 80, i % 5 === 0 ? 0 : 255], i * 4);
  const part = { x: 4, y: 2, width: 10, height: 5 };
  renderer.image({ width: 16, height: 8, rgba }, part, { x: 100, y: 84, width: 40, height: 20 });
}

function drawClipped(renderer: Renderer): void {
  renderer.clip({ x: 20, y: 96, width: 30, height: 14 });
  const batch = new Batch();
  batch.add(0, 90, WIDTH, HEIGHT, 0xff2266cc);
  renderer.rects(batch);
  renderer.clip(null);
}

/** The picture as it is on the canvas. */
function draw(name: Renderer["name"]): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  const renderer = name === "webgl" ? WebGL2.on(canvas) : new Canvas2D(canvas);
  if (!renderer) throw new Error("this browser has no WebGL2");
  renderer.begin(WIDTH, HEIGHT, 0xfff4f2f0);
  for (const part of [drawRects, drawArea, drawImage, drawClipped]) part(renderer);
  renderer.end();
  return canvas;
}

async function pixelsOf(source: ImageBitmapSource): Promise<Uint8ClampedArray> {
  const bitmap = await createImageBitmap(source);
  const canvas = new OffscreenCanvas(WIDTH, HEIGHT);
  const context = canvas.getContext("2d")!;
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, WIDTH, HEIGHT).data;
}

/** How many pixels differ from the reference in any channel by more than two, which is how blending may be rounded. */
async function differing(name: Renderer["name"], reference: string): Promise<number> {
  const file = await (await fetch(`data:image/png;base64,${reference}`)).blob();
  const [is, want] = await Promise.all([pixelsOf(draw(name)), pixelsOf(file)]);
  let count = 0;
  for (let i = 0; i < is.length; i += 4) {
    if ([0, 1, 2, 3].some((channel) => Math.abs(is[i + channel]! - want[i + channel]!) > 2)) count++;
  }
  return count;
}

/** The picture as a PNG, in base64. */
function png(name: Renderer["name"]): string {
  return draw(name).toDataURL().split(",")[1]!;
}

Object.assign(window, { drawing: { differing, png } });
