// Blocks and segments of tiles as rectangles, cut to the part of the map that each tile stands for.

import { type Colour, mix } from "../../draw/palette.ts";
import type { Batch } from "../../draw/renderer.ts";
import { type Picture, type Place, pathOf, tileWidth } from "../../tiles/address.ts";
import { NONE, type RectsTile } from "../../tiles/decode.ts";
import type { TileStore } from "../../tiles/store.ts";

/** A tile, and the part of the map for which it is drawn: events and units. */
export interface Patch {
  readonly tile: RectsTile;
  /** Names the tile. */
  readonly key: string;
  readonly from: number;
  readonly to: number;
  readonly low: number;
  readonly high: number;
}

/** What there is for each of the places. */
export function patchesOf(store: TileStore, picture: Picture, places: readonly Place[]): Patch[] {
  const patches: Patch[] = [];
  for (const place of places) {
    const found = store.find(picture, place);
    if (!found) continue;
    const { level, i, levelY, row } = place;
    patches.push({
      tile: found.tile as RectsTile,
      key: pathOf(picture, found.place),
      from: i * tileWidth(level),
      to: (i + 1) * tileWidth(level),
      low: row * tileWidth(levelY),
      high: (row + 1) * tileWidth(levelY),
    });
  }
  return patches;
}

/** Pixels of the screen for events and units. */
export interface MapScales {
  readonly toX: (event: number) => number;
  readonly toY: (units: number) => number;
}

/** From this size on blocks have an edge between them, in pixels of the screen. */
const EDGE_PX = 5;

/** Adds rectangles of what is reserved. */
export function addSegments(
  batch: Batch,
  { tile, from, to, low, high }: Patch,
  { toX, toY }: MapScales,
  colour: Colour,
): void {
  for (let r = 0; r < tile.count; r++) {
    const x0 = Math.max(from, tile.start[r]!);
    const x1 = Math.min(to, tile.end[r]!);
    const y0 = Math.max(low, tile.place[r]!);
    const y1 = Math.min(high, tile.place[r]! + tile.size[r]!);
    if (x0 < x1 && y0 < y1) batch.add(toX(x0), toY(y0), toX(x1), toY(y1), colour);
  }
}

/** Adds rectangles of blocks. From where the program let go of one it is paler, until it is free. */
export function addBlocks(
  batch: Batch,
  { tile, from, to, low, high }: Patch,
  { toX, toY }: MapScales,
  colour: (group: number) => Colour,
  free: Colour,
): void {
  for (let r = 0; r < tile.count; r++) {
    const x0 = Math.max(from, tile.start[r]!);
    const x1 = Math.min(to, tile.end[r]!);
    const y0 = Math.max(low, tile.place[r]!);
    const y1 = Math.min(high, tile.place[r]! + tile.size[r]!);
    if (x0 >= x1 || y0 >= y1) continue;
    const plain = colour(tile.group[r]!);
    const fill = tile.id[r]! % 2 === 0 ? plain : mix(plain, free, 0.16);
    const freed = Math.min(x1, tile.freed[r]!);
    const [top, bottom] = [toY(y0), toY(y1)];
    const gap = bottom - top >= EDGE_PX && y0 === tile.place[r] ? 1 : 0;
    const left = toX(x0);
    const edge = x0 === tile.start[r] && toX(x1) - left >= EDGE_PX ? 1 : 0;
    if (x0 < freed) batch.add(left + edge, top + gap, toX(freed), bottom, fill);
    if (freed < x1) batch.add(toX(Math.max(x0, freed)), top + gap, toX(x1), bottom, mix(fill, free, 0.55));
  }
}

/** A block or a segment as a tile has it; places and sizes in units. */
export interface Rect {
  readonly id: number;
  readonly group: number;
  readonly start: number;
  readonly freed: number;
  readonly end: number;
  readonly place: number;
  readonly size: number;
}

function rectOf(tile: RectsTile, r: number): Rect {
  return {
    id: tile.id[r]!,
    group: tile.group[r]!,
    start: tile.start[r]!,
    freed: tile.freed[r]!,
    end: tile.end[r]!,
    place: tile.place[r]!,
    size: tile.size[r]!,
  };
}

/** The patch that stands for a point of the map. */
export function patchAt(patches: readonly Patch[], event: number, units: number): Patch | null {
  return patches.find((p) => event >= p.from && event < p.to && units >= p.low && units < p.high) ?? null;
}

/** The rectangle at a point. */
export function rectAt({ tile }: Patch, event: number, units: number): Rect | null {
  for (let r = 0; r < tile.count; r++) {
    if (event < tile.start[r]! || event >= tile.end[r]!) continue;
    if (units >= tile.place[r]! && units < tile.place[r]! + tile.size[r]!) return rectOf(tile, r);
  }
  return null;
}

/** Share of the raster's cell at a point that blocks without a rectangle hold, 0 to 1. */
export function densityAt({ tile }: Patch, event: number, units: number): number {
  const column = Math.floor((event - tile.fromX) / 2 ** tile.levelX / 2);
  const row = Math.floor((units - tile.fromY) / 2 ** tile.levelY / 2);
  if (column < 0 || column >= tile.cellsX || row < 0 || row >= tile.cellsY) return 0;
  return tile.density[row * tile.cellsX + column]! / 255;
}

/** Whether a rectangle is held at the recording's end. */
export function isKept(rect: Rect): boolean {
  return rect.end === NONE;
}
