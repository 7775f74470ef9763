// Where the parts of the timeline lie, in CSS pixels.

import type { Box } from "../../draw/renderer.ts";

export interface Layout {
  /** The whole recording in small, with the window that is shown. */
  readonly minimap: Box;
  /** Labels of the horizontal axis. */
  readonly ticks: Box;
  /** Signs of what happened, and steps. */
  readonly marks: Box;
  readonly plot: Box;
}

/** Room for labels of the vertical axis. */
export const GUTTER_PX = 72;
const NARROW_GUTTER_PX = 58;
const NARROW_PX = 520;

export function layoutOf(width: number, height: number): Layout {
  const x = width < NARROW_PX ? NARROW_GUTTER_PX : GUTTER_PX;
  const row = (y: number, size: number): Box => ({
    x,
    y,
    width: Math.max(1, width - x - 12),
    height: Math.max(1, size),
  });
  return {
    minimap: row(8, 40),
    ticks: row(52, 18),
    marks: row(70, 18),
    plot: row(90, height - 90 - 10),
  };
}

export function inside(box: Box, { x, y }: { readonly x: number; readonly y: number }): boolean {
  return x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
}
