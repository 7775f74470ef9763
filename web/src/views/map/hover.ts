// What lies under the pointer in the map.

import type { Point } from "../../draw/gestures.ts";
import type { Lane } from "../../source/api.ts";
import { inside } from "../shared/rows.ts";
import type { MapPicture } from "./picture.ts";
import { densityAt, patchAt, type Rect, rectAt } from "./rects.ts";

export interface Hovered {
  readonly event: number;
  /** Null between lanes, and left of the plot where only the lane is known. */
  readonly address: string | null;
  readonly lane: Lane | null;
  readonly block: Rect | null;
  readonly segment: Rect | null;
  /** Share of the spot that blocks hold which are too small for a rectangle, 0 to 1. */
  readonly density: number;
}

/** What is at a point of the plot or of the names of lanes; null elsewhere. */
export function hoveredAt(picture: MapPicture, at: Point): Hovered | null {
  const { plot, lanes } = picture.layout;
  const place = picture.placeAt(at.y);
  if (inside(lanes, at)) {
    const lane = picture.lanes.at(place);
    return lane && { event: -1, address: null, lane, block: null, segment: null, density: 0 };
  }
  if (!inside(plot, at)) return null;
  const event = Math.floor(picture.eventAt(at.x));
  const units = place / picture.unit;
  const blocks = patchAt(picture.blocks, event, units);
  const segments = patchAt(picture.segments, event, units);
  return {
    event,
    address: picture.lanes.address(place),
    lane: picture.lanes.at(place),
    block: blocks && rectAt(blocks, event, units),
    segment: segments && rectAt(segments, event, units),
    density: blocks ? densityAt(blocks, event, units) : 0,
  };
}
