// Where the parts of the timeline lie, in CSS pixels.

import type { Device } from "../../source/api.ts";
import { NARROW_PX, type Rows, rowsOf } from "../shared/rows.ts";

/** Room for labels of the vertical axis. */
const GUTTER_PX = 72;
const NARROW_GUTTER_PX = 58;

const MINIMAP_PX = 40;

export function layoutOf(width: number, height: number, info: Device): Rows {
  return rowsOf(width, height, width < NARROW_PX ? NARROW_GUTTER_PX : GUTTER_PX, MINIMAP_PX, info);
}
