// Pictures of what is too small for rectangles: a cell is the darker the more of it is held.

import type { Colour } from "../../draw/palette.ts";
import type { Raster, Renderer } from "../../draw/renderer.ts";
import { LRU } from "../../tiles/cache.ts";
import type { RectsTile } from "../../tiles/decode.ts";
import type { MapScales, Patch } from "./rects.ts";

/** Bytes of pictures that are kept: some sixty. A back end keeps each once more. */
const KEPT_BYTES = 16 << 20;

/** Opacity of a cell in which the least is held; it must be seen. */
const LEAST_ALPHA = 0.22;

export class Rasters {
  private readonly kept = new LRU<Raster>(KEPT_BYTES);

  /** Paints the cells of a patch in a colour, in strips of so many cells, within each of which toX is straight. */
  paint(renderer: Renderer, patch: Patch, scales: MapScales, colour: Colour, strip: number): void {
    const { tile } = patch;
    if (tile.cellsX === 0 || tile.cellsY === 0) return;
    const cellX = 2 ** tile.levelX * 2;
    const cellY = 2 ** tile.levelY * 2;
    const columns = cells(patch.from, patch.to, tile.fromX, cellX, tile.cellsX);
    const rows = cells(patch.low, patch.high, tile.fromY, cellY, tile.cellsY);
    const top = Math.round(scales.toY(tile.fromY + rows.from * cellY));
    const bottom = Math.round(scales.toY(tile.fromY + rows.to * cellY));
    if (bottom <= top) return;
    const raster = this.rasterOf(patch.key, tile, colour);
    for (let from = columns.from; from < columns.to; from += strip) {
      const to = Math.min(columns.to, from + strip);
      const left = Math.round(scales.toX(tile.fromX + from * cellX));
      const right = Math.round(scales.toX(tile.fromX + to * cellX));
      if (right <= left) continue;
      const part = { x: from, y: rows.from, width: to - from, height: rows.to - rows.from };
      renderer.image(raster, part, { x: left, y: top, width: right - left, height: bottom - top });
    }
  }

  private rasterOf(key: string, tile: RectsTile, colour: Colour): Raster {
    const name = `${colour} ${key}`;
    let raster = this.kept.get(name);
    if (!raster) {
      raster = { width: tile.cellsX, height: tile.cellsY, rgba: shade(tile.density, colour) };
      this.kept.set(name, raster, raster.rgba.byteLength);
    }
    return raster;
  }
}

/** The cells of an axis that a patch takes: whole ones, for patches begin and end where cells do. */
function cells(
  from: number,
  to: number,
  origin: number,
  size: number,
  count: number,
): { from: number; to: number } {
  const clip = (x: number) => Math.min(count, Math.max(0, x));
  return { from: clip(Math.floor((from - origin) / size)), to: clip(Math.ceil((to - origin) / size)) };
}

/** Pixels of one colour, as opaque as the cell is full. */
export function shade(density: Uint8Array, colour: Colour): Uint8ClampedArray<ArrayBuffer> {
  const rgba = new Uint8ClampedArray(density.length * 4);
  const pixels = new Uint32Array(rgba.buffer);
  for (let i = 0; i < density.length; i++) {
    if (density[i] === 0) continue;
    const alpha = LEAST_ALPHA + (1 - LEAST_ALPHA) * (density[i]! / 255);
    pixels[i] = ((colour & 0xffffff) | (Math.round(alpha * 255) << 24)) >>> 0;
  }
  return rgba;
}
