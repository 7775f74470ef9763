// Names of tiles, and which of them a window needs: docs/formats/view-api.md, "tile".

import type { Span } from "../draw/camera.ts";
import type { GroupBy } from "../source/api.ts";

/** Buckets of a tile along each of its axes. */
export const BUCKETS = 512;

/** A picture of which there are tiles at every level. */
export type Picture =
  | { readonly kind: "counters" }
  | { readonly kind: "bands" | "packed"; readonly by: GroupBy }
  | { readonly kind: "map"; readonly by: GroupBy }
  | { readonly kind: "segments" };

/** A tile's place: its level and number along events, and for map and segments along places. */
export interface Place {
  readonly level: number;
  readonly i: number;
  readonly levelY: number;
  readonly row: number;
}

/** The place of a tile that has only one axis. */
export function along(level: number, i: number): Place {
  return { level, i, levelY: 0, row: 0 };
}

/** The part of the tile's path after tile/: "map-category-3-0/2/17". */
export function pathOf(picture: Picture, place: Place): string {
  const rest = `${place.level}/${place.i}`;
  switch (picture.kind) {
    case "counters":
      return `counters/${rest}`;
    case "map":
      return `map-${picture.by}-${place.levelY}-${place.row}/${rest}`;
    case "segments":
      return `segments-${place.levelY}-${place.row}/${rest}`;
    default:
      return `${picture.kind}-${picture.by}/${rest}`;
  }
}

/** Whether tiles of the picture have a second axis. */
export function isFlat(picture: Picture): boolean {
  return picture.kind === "map" || picture.kind === "segments";
}

/** Events, or units, that a tile of the level spans. */
export function tileWidth(level: number): number {
  return BUCKETS * 2 ** level;
}

/** Numbers of the tiles of a level that meet span, within 0…end. */
export function tilesOf(span: Span, level: number, end: number): number[] {
  const size = tileWidth(level);
  const first = Math.max(0, Math.floor(span.from / size));
  const last = Math.min(Math.ceil(end / size), Math.ceil(span.to / size)) - 1;
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => first + k);
}

/** The level at which one tile holds the whole of an axis. */
export function rootLevel(end: number): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(1, end) / BUCKETS)));
}

/** The tile at the next coarser level that the place lies in; null at the root of both axes. */
export function parent(place: Place, root: Pick<Place, "level" | "levelY">): Place | null {
  const up = place.level < root.level;
  const upY = place.levelY < root.levelY;
  if (!up && !upY) return null;
  return {
    level: place.level + (up ? 1 : 0),
    i: up ? place.i >> 1 : place.i,
    levelY: place.levelY + (upY ? 1 : 0),
    row: upY ? place.row >> 1 : place.row,
  };
}
