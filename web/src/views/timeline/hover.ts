// What lies under the pointer in the timeline, in words and numbers.

import type { Point } from "../../draw/gestures.ts";
import type { Mark } from "../../source/api.ts";
import { type SeriesName, seriesNames } from "../../state/viewer.ts";
import { columnAt } from "../../tiles/columns.ts";
import { type Extremes, eventsOf, extremesAt } from "../shared/lines.ts";
import { markAt } from "../shared/marks.ts";
import { inside } from "../shared/rows.ts";
import { type Slice, sliceAt } from "./bands.ts";
import { type PackedBlock, packedAt } from "./packed.ts";
import type { TimelinePicture } from "./picture.ts";

export interface Hovered {
  /** First and last event of the pixel. */
  readonly from: number;
  readonly to: number;
  readonly series: Readonly<Record<SeriesName, Extremes>>;
  readonly slice: Slice | null;
  /** The group whose band is under the pointer. */
  readonly group: number | null;
  readonly block: PackedBlock | null;
  readonly mark: Mark | null;
}

/** What is at a point of the plot or of the row of marks; null elsewhere. */
export function hoveredAt(picture: TimelinePicture, at: Point): Hovered | null {
  const { plot, marks } = picture.layout;
  const overMarks = inside(marks, at);
  const columns = picture.counters;
  if (!columns || !(inside(plot, at) || overMarks)) return null;
  const c = columnAt(columns, at.x * picture.ratio);
  if (c < 0) return null;
  const { from, to } = eventsOf(columns, c);
  const slice = picture.packed.length === 0 ? sliceUnder(picture, at.x) : null;
  const bytes = picture.bytesAt(at.y);
  const all = seriesNames.map((name) => [name, extremesAt(columns, c, name)] as const);
  return {
    from,
    to: to - 1,
    series: Object.fromEntries(all) as Record<SeriesName, Extremes>,
    slice,
    group: overMarks || !slice ? null : groupAt(slice, bytes),
    block: overMarks ? null : blockAt(picture, at.x, bytes),
    mark: overMarks ? markAt(picture.axis, picture.info.marks, at.x - marks.x) : null,
  };
}

/** The stack at a pixel of the page. */
export function sliceUnder(picture: TimelinePicture, x: number): Slice | null {
  const { bands } = picture;
  const c = bands ? columnAt(bands, x * picture.ratio) : -1;
  return bands && c >= 0 ? sliceAt(bands, picture.best, c, picture.order) : null;
}

function groupAt(slice: Slice, bytes: number): number | null {
  if (bytes < 0) return null;
  let sum = 0;
  for (const each of slice.groups) {
    sum += each.bytes;
    if (bytes < sum) return each.group;
  }
  return null;
}

function blockAt(picture: TimelinePicture, x: number, bytes: number): PackedBlock | null {
  const event = Math.floor(picture.axis.event(x - picture.layout.plot.x));
  for (const { tile, from, to } of picture.packed) {
    if (event >= Math.floor(from) && event < to) return packedAt(tile, event, bytes);
  }
  return null;
}

/** The stack where it is highest in the window. */
export function highestSlice(picture: TimelinePicture): Slice | null {
  const { bands, counters } = picture;
  if (!bands || !counters || bands.count === 0) return null;
  let best = 0;
  let most = -1;
  for (let c = 0; c < counters.count; c++) {
    const { max } = extremesAt(counters, c, "allocated");
    if (max > most) [best, most] = [c, max];
  }
  const c = columnAt(bands, counters.x[best]!);
  return c < 0 ? null : sliceAt(bands, picture.best, c, picture.order);
}
