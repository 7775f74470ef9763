// The stack: what groups hold of the allocated memory. A column shows the moment in it at
// which most was allocated, so the top of the stack is the peak, to the byte.

import type { Colour } from "../../draw/palette.ts";
import type { Renderer } from "../../draw/renderer.ts";
import type { Columns } from "../../tiles/columns.ts";
import { type BandsTile, NONE } from "../../tiles/decode.ts";

/** Bytes of the groups at one moment, from the bottom of the stack to its top. */
export interface Slice {
  /** The event after which it was so; -1 where the recording's beginning is all that is known. */
  readonly event: number;
  readonly groups: readonly { readonly group: number; readonly bytes: number }[];
}

/** Sum of a bucket's column. */
function total(tile: BandsTile, bucket: number): number {
  let sum = 0;
  for (let row = 0; row < tile.count; row++) sum += tile.peak[row * tile.nx + bucket]!;
  return sum;
}

/** For each column the number of the bucket in it in which most was allocated. */
export function highest(columns: Columns<BandsTile>): Uint32Array {
  const best = new Uint32Array(columns.count);
  for (let c = 0; c < columns.count; c++) {
    let most = -1;
    for (let k = columns.first[c]!; k < columns.first[c + 1]!; k++) {
      const bytes = total(columns.tile[k]!, columns.bucket[k]!);
      if (bytes > most) {
        most = bytes;
        best[c] = k;
      }
    }
  }
  return best;
}

/**
 * Groups from the bottom of the stack to its top: those that stay come before those that come
 * and go, so that the lower edges of the stack are calm. "Everything else" is the top one.
 * whole is the tile that covers the whole recording.
 */
export function stackOrder(whole: BandsTile): number[] {
  const steadiness = (row: number) => {
    let sum = 0;
    let most = 0;
    for (let j = 0; j < whole.nx; j++) {
      sum += whole.mean[row * whole.nx + j]!;
      most = Math.max(most, whole.peak[row * whole.nx + j]!);
    }
    return most === 0 ? 0 : sum / whole.nx / most;
  };
  return Array.from(whole.group, (group, row) => ({ group, key: group === NONE ? -1 : steadiness(row) }))
    .sort((a, b) => b.key - a.key)
    .map(({ group }) => group);
}

/** What the stack holds in the column c, in the given order. */
export function sliceAt(
  columns: Columns<BandsTile>,
  best: Uint32Array,
  c: number,
  order: readonly number[],
): Slice {
  const k = best[c]!;
  const tile = columns.tile[k]!;
  const bucket = columns.bucket[k]!;
  const at = tile.at[bucket]!;
  const bytes = new Map(Array.from(tile.group, (group, row) => [group, tile.peak[row * tile.nx + bucket]!]));
  return {
    event: at === NONE ? -1 : at,
    groups: order.filter((group) => bytes.has(group)).map((group) => ({ group, bytes: bytes.get(group)! })),
  };
}

/** Paints the stack. toY gives the pixel of the screen for an amount of bytes. */
export function paintBands(
  renderer: Renderer,
  columns: Columns<BandsTile>,
  order: readonly number[],
  colour: (group: number) => Colour,
  toY: (bytes: number) => number,
): void {
  const best = highest(columns);
  const { count, x } = columns;
  const sums = new Float64Array(count);
  let low = new Float32Array(count).fill(Math.round(toY(0)));
  for (const group of order) {
    const high = new Float32Array(count);
    let any = false;
    for (let c = 0; c < count; c++) {
      const tile = columns.tile[best[c]!]!;
      const row = tile.group.indexOf(group);
      if (row >= 0) sums[c]! += tile.peak[row * tile.nx + columns.bucket[best[c]!]!]!;
      high[c] = Math.round(toY(sums[c]!));
      any ||= high[c] !== low[c];
    }
    if (any) renderer.area({ count, x, low, high, colour: colour(group) });
    low = high;
  }
}
