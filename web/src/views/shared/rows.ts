// Where the parts of a picture over events lie, in CSS pixels.

import type { Box } from "../../draw/renderer.ts";
import type { Device } from "../../source/api.ts";

/** Rows from the top, and the plot below them. */
export interface Rows {
  /** The whole recording in small, with the window that is shown. */
  readonly minimap: Box;
  /** Labels of the horizontal axis. */
  readonly ticks: Box;
  /** Numbers of steps; of no height where no steps are known. */
  readonly steps: Box;
  /** Signs of what happened; of no height where nothing did. */
  readonly marks: Box;
  readonly plot: Box;
}

/** Below this width labels get less room. */
export const NARROW_PX = 520;

const ROW_PX = 17;
const MARGIN_PX = 8;
const RIGHT_PX = 14;

/** Lays the rows; gutter is the room for labels of the vertical axis, minimap the height of the first row. */
export function rowsOf(width: number, height: number, gutter: number, minimap: number, info: Device): Rows {
  let y = MARGIN_PX;
  const row = (size: number): Box => {
    const box = { x: gutter, y, width: Math.max(1, width - gutter - RIGHT_PX), height: Math.max(0, size) };
    y += size;
    return box;
  };
  const top = row(minimap);
  y += 4;
  const ticks = row(ROW_PX);
  const steps = row(info.steps.count > 0 ? ROW_PX : 0);
  const marks = row(info.marks.length > 0 ? ROW_PX : 0);
  y += 6;
  const plot = row(Math.max(1, height - y - MARGIN_PX - 2));
  return { minimap: top, ticks, steps, marks, plot };
}

export function inside(box: Box, { x, y }: { readonly x: number; readonly y: number }): boolean {
  return x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
}

/** The height of a box's middle. */
export function middle({ y, height }: Box): number {
  return y + height / 2;
}
