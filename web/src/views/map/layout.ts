// Where the parts of the map lie, in CSS pixels.

import type { Box } from "../../draw/renderer.ts";
import type { Device } from "../../source/api.ts";
import { NARROW_PX, type Rows, rowsOf } from "../shared/rows.ts";

export interface MapLayout extends Rows {
  /** Names of lanes, left of the plot. */
  readonly lanes: Box;
}

const GUTTER_PX = 116;
const NARROW_GUTTER_PX = 66;

const MINIMAP_PX = 28;

export function mapLayout(width: number, height: number, info: Device): MapLayout {
  const gutter = width < NARROW_PX ? NARROW_GUTTER_PX : GUTTER_PX;
  const rows = rowsOf(width, height, gutter, MINIMAP_PX, info);
  return { ...rows, lanes: { ...rows.plot, x: 0, width: gutter } };
}
