// What a moment says of fragmentation: the free pieces between blocks, and the blocks that
// keep a segment which is mostly free. A segment goes back to the device only as a whole.

import type { Moment } from "../../state/types.ts";

/** A segment is mostly free from this share on. */
const LEAST_FREE = 0.5;

/** A part of the map's vertical axis, in bytes. */
export interface Piece {
  readonly place: number;
  readonly size: number;
}

export interface Pin extends Piece {
  readonly block: number;
}

export interface Fragments {
  /** Free memory in segments that hold a block: it can be used for what fits, and not be returned. */
  readonly holes: readonly Piece[];
  /** Blocks in segments of which at least half is free. */
  readonly pins: readonly Pin[];
  readonly freeBytes: number;
  readonly largestBytes: number;
}

/** Holes and pins of the segments at a moment. A segment without a block has neither. */
export function fragmentsOf(moment: Moment): Fragments {
  const holes: Piece[] = [];
  const pins: Pin[] = [];
  for (const { offset_bytes, size_bytes, spans } of moment.segments) {
    const pieces = spans.block.map((block, k) => ({
      block,
      place: offset_bytes + spans.offset[k]!,
      size: spans.size[k]!,
    }));
    const held = pieces.filter(({ block }) => block >= 0);
    if (held.length === 0) continue;
    const free = pieces.filter(({ block }) => block < 0);
    for (const { place, size } of free) holes.push({ place, size });
    if (sizeOf(free) >= LEAST_FREE * size_bytes) pins.push(...held);
  }
  return {
    holes,
    pins,
    freeBytes: sizeOf(holes),
    largestBytes: holes.reduce((most, { size }) => Math.max(most, size), 0),
  };
}

function sizeOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { size }) => sum + size, 0);
}
