// Single blocks, one upon the other in the order of their allocation. Shown once the window
// is small enough for all of them.

import { lastAtMost } from "../../draw/clock.ts";
import { type Colour, mix } from "../../draw/palette.ts";
import type { Batch } from "../../draw/renderer.ts";
import type { Piece } from "../../tiles/columns.ts";
import type { PackedTile } from "../../tiles/decode.ts";

/** From this height on blocks have an edge between them. */
const EDGE_PX = 9;

export interface PackedScales {
  readonly toX: (event: number) => number;
  readonly toY: (bytes: number) => number;
  readonly colour: (group: number) => Colour;
  readonly background: Colour;
  /** Pixels of the screen in one of the page. */
  readonly ratio: number;
}

/**
 * Adds the rectangles of the blocks of a tile, between the events from and to. Of blocks that
 * are less than a pixel high those are drawn that cross the middle of one: every pixel of the
 * stack has the colour of what lies there, and no pixel has two.
 */
export function addPacked(batch: Batch, { tile, from, to }: Piece<PackedTile>, s: PackedScales): void {
  for (let b = 0; b < tile.count; b++) {
    const end = Math.min(to, tile.end[b]!);
    const plain = s.colour(tile.group[b]!);
    const fill = tile.id[b]! % 2 === 0 ? plain : mix(plain, s.background, 0.14); // neighbours differ
    for (let k = tile.first[b]!; k < tile.first[b + 1]!; k++) {
      const bottom = Math.round(s.toY(tile.offset[k]!));
      const top = Math.round(s.toY(tile.offset[k]! + tile.size[b]!));
      if (bottom <= top) continue;
      const begin = Math.max(from, tile.event[k]!);
      const until = k + 1 < tile.first[b + 1]! ? Math.min(end, tile.event[k + 1]!) : end;
      if (begin >= until) continue;
      const edge = bottom - top >= EDGE_PX * s.ratio ? Math.max(1, Math.round(s.ratio * 0.5)) : 0;
      batch.add(s.toX(begin), top + edge, s.toX(until), bottom, fill);
    }
  }
}

/** What is known of a block from a tile. */
export interface PackedBlock {
  readonly id: number;
  readonly group: number;
  readonly sizeBytes: number;
  readonly start: number;
  readonly end: number;
}

/** The step of block b at an event, or -1 where it is not allocated. */
function stepAt(tile: PackedTile, b: number, event: number): number {
  if (event < tile.start[b]! || event >= tile.end[b]!) return -1;
  const steps = tile.event.subarray(tile.first[b]!, tile.first[b + 1]!);
  const k = lastAtMost(steps, event);
  return k < 0 ? -1 : tile.first[b]! + k;
}

/** The block that lies at an amount of bytes of the stack, at an event. */
export function packedAt(tile: PackedTile, event: number, bytes: number): PackedBlock | null {
  for (let b = 0; b < tile.count; b++) {
    const k = stepAt(tile, b, event);
    if (k < 0 || bytes < tile.offset[k]! || bytes >= tile.offset[k]! + tile.size[b]!) continue;
    const { id, group, size, start, end } = tile;
    return { id: id[b]!, group: group[b]!, sizeBytes: size[b]!, start: start[b]!, end: end[b]! };
  }
  return null;
}

/** Calls back with each rectangle of one block: events from and to, and bytes from and to. */
export function traceBlock(
  { tile, from, to }: Piece<PackedTile>,
  id: number,
  visit: (from: number, to: number, low: number, high: number) => void,
): void {
  const b = tile.id.indexOf(id);
  if (b < 0) return;
  const end = Math.min(to, tile.end[b]!);
  for (let k = tile.first[b]!; k < tile.first[b + 1]!; k++) {
    const begin = Math.max(from, tile.event[k]!);
    const until = k + 1 < tile.first[b + 1]! ? Math.min(end, tile.event[k + 1]!) : end;
    if (begin < until) visit(begin, until, tile.offset[k]!, tile.offset[k]! + tile.size[b]!);
  }
}
