// Turns buckets of tiles into columns of pixels: where many buckets lie in one pixel they
// become one column, so that no peak falls between pixels.

import type { Span } from "../draw/camera.ts";
import { along, type Picture, type Place, tileWidth } from "./address.ts";
import type { BandsTile, CountersTile, Tile } from "./decode.ts";
import type { TileStore } from "./store.ts";

type Buckets = BandsTile | CountersTile;

/** A tile, and the events of it that are to be drawn. */
export interface Piece<T extends Tile = Tile> {
  readonly tile: T;
  readonly from: number;
  readonly to: number;
}

/** Asks for tiles that lie side by side, and returns what there is of them, in order. */
export function piecesOf<T extends Buckets>(
  store: TileStore,
  asker: string,
  picture: Picture,
  places: readonly Place[],
  events: number,
): Piece<T>[] {
  store.want(
    asker,
    picture,
    places,
    [beside(places[0], -1, events), beside(places.at(-1), 1, events)].flat(),
  );
  const pieces: Piece<T>[] = [];
  for (const place of places) {
    const found = store.find(picture, place);
    if (!found) continue;
    const from = place.i * tileWidth(place.level);
    pieces.push({ tile: found.tile as T, from, to: Math.min(events, from + tileWidth(place.level)) });
  }
  return pieces;
}

/** The next tile of the same level, which a small move would show; none beyond the ends. */
function beside(place: Place | undefined, step: -1 | 1, events: number): Place[] {
  if (!place) return [];
  const i = place.i + step;
  return i >= 0 && i * tileWidth(place.level) < events ? [along(place.level, i)] : [];
}

/** Columns from left to right, and the buckets that lie in each. */
export interface Columns<T extends Buckets> {
  readonly count: number;
  /** Edges in pixels of the screen, whole: count + 1. */
  readonly x: Float32Array;
  /** The buckets of column c are those from first[c] up to first[c + 1]. */
  readonly first: Uint32Array;
  /** The tile, and the bucket in it, of each bucket. */
  readonly tile: T[];
  readonly bucket: Uint32Array;
}

/** Lays out the buckets of pieces. toX gives the pixel at which an event begins. */
export function columnsOf<T extends Buckets>(
  pieces: readonly Piece<T>[],
  range: Span,
  toX: (event: number) => number,
): Columns<T> {
  const most = pieces.reduce((sum, { tile }) => sum + tile.nx, 0);
  const x = new Float32Array(most + 1);
  const first = new Uint32Array(most + 1);
  const bucket = new Uint32Array(most);
  const tiles: T[] = [];
  let count = 0;
  for (const { tile, from, to } of pieces) {
    const low = Math.max(from, range.from);
    const high = Math.min(to, range.to);
    for (let j = 0; j < tile.nx; j++) {
      const begin = Math.max(low, tile.edge[j]!);
      const end = Math.min(high, tile.edge[j + 1]!);
      if (begin >= end) continue;
      const left = Math.round(toX(begin));
      const right = Math.round(toX(end));
      if (count === 0) x[0] = left;
      bucket[tiles.length] = j;
      tiles.push(tile);
      // What is narrower than a pixel shares one with its like, not with a wide bucket before it.
      const alone = count === 0 || x[count]! > x[count - 1]! + 1;
      if (right > x[count]! || alone) {
        count++;
        x[count] = Math.max(right, x[count - 1]! + 1);
      }
      first[count] = tiles.length;
    }
  }
  return { count, x: x.subarray(0, count + 1), first, tile: tiles, bucket };
}

/** The column at a pixel, or -1. */
export function columnAt(columns: Pick<Columns<Buckets>, "count" | "x">, x: number): number {
  let low = 0;
  let high = columns.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (columns.x[middle + 1]! <= x) low = middle + 1;
    else high = middle;
  }
  return low < columns.count && x >= columns.x[low]! ? low : -1;
}
