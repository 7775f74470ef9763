// Blocks that keep free memory from being returned to the device: a segment goes back only
// as a whole, so one small block in it keeps all the rest.

import type { Moment } from "../../state/types.ts";

/** A segment counts if at least this share of it is free. */
const LEAST_FREE = 0.5;

/** A block that keeps a segment, and where it lies on the map's vertical axis, in bytes. */
export interface Pin {
  readonly block: number;
  readonly place: number;
  readonly size: number;
}

export interface Pins {
  readonly pins: readonly Pin[];
  readonly segments: number;
  /** Free in those segments. */
  readonly freeBytes: number;
}

/** The blocks in segments that are mostly free at a moment. A segment without a block pins nothing. */
export function pinsOf(moment: Moment): Pins {
  const pins: Pin[] = [];
  let segments = 0;
  let freeBytes = 0;
  for (const { offset_bytes, size_bytes, spans } of moment.segments) {
    const held = spans.block.map((_, k) => k).filter((k) => spans.block[k]! >= 0);
    const free = size_bytes - held.reduce((sum, k) => sum + spans.size[k]!, 0);
    if (held.length === 0 || free < LEAST_FREE * size_bytes) continue;
    segments++;
    freeBytes += free;
    for (const k of held)
      pins.push({ block: spans.block[k]!, place: offset_bytes + spans.offset[k]!, size: spans.size[k]! });
  }
  return { pins, segments, freeBytes };
}
