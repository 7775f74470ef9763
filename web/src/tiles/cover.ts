// Which tiles show a window best. On an axis of events all are of one level. On one of time
// events lie close here and far apart there, so tiles are split where a bucket would be wide.

import type { Span } from "../draw/camera.ts";
import type { EventAxis } from "../draw/eventaxis.ts";
import { along, BUCKETS, type Place, tilesOf, tileWidth } from "./address.ts";

/** Buckets wider than this are split, as long as there are tiles to spend. */
const WIDE_PX = 2;

/** Most tiles of one picture in a frame. */
const MOST_TILES = 64;

/** The tiles of one level in a window. */
export function evenCover(range: Span, level: number, events: number): Place[] {
  return tilesOf(range, level, events).map((i) => along(level, i));
}

/**
 * Tiles of any level that lie side by side in a window, from left to right: those with the
 * widest buckets are split first, until none is wide or there are enough.
 */
export function fineCover(axis: EventAxis, root: number, events: number): Place[] {
  let open = evenCover(axis.range, root, events).map((place) => ({ place, px: widestBucket(axis, place) }));
  const done: Place[] = [];
  while (open.length > 0 && open.length + done.length < MOST_TILES) {
    open.sort((a, b) => b.px - a.px);
    const { place, px } = open.shift()!;
    if (px <= WIDE_PX || place.level === 0) {
      done.push(place);
      continue;
    }
    const halves = [along(place.level - 1, 2 * place.i), along(place.level - 1, 2 * place.i + 1)];
    open = [
      ...open,
      ...halves
        .filter((half) => meets(half, axis.range, events))
        .map((half) => ({ place: half, px: widestBucket(axis, half) })),
    ];
  }
  const start = ({ level, i }: Place) => i * tileWidth(level);
  return [...done, ...open.map(({ place }) => place)].sort((a, b) => start(a) - start(b));
}

function meets({ level, i }: Place, range: Span, events: number): boolean {
  const from = i * tileWidth(level);
  return from < range.to && from < events && from + tileWidth(level) > range.from;
}

/** Width in pixels of the widest of a tile's buckets within the window. */
function widestBucket(axis: EventAxis, { level, i }: Place): number {
  const size = 2 ** level;
  let widest = 0;
  let before: number | null = null;
  for (let j = 0; j <= BUCKETS; j++) {
    const event = i * tileWidth(level) + j * size;
    const x = Math.min(axis.px, Math.max(0, axis.x(event)));
    if (before !== null) widest = Math.max(widest, x - before);
    before = x;
    if (event > axis.range.to) break;
  }
  return widest;
}
