// Where the parts of the map lie, in CSS pixels.

import type { Box } from "../../draw/renderer.ts";

export interface MapLayout {
  readonly minimap: Box;
  readonly ticks: Box;
  readonly marks: Box;
  /** Names of lanes, left of the plot. */
  readonly lanes: Box;
  readonly plot: Box;
}

const GUTTER_PX = 116;
const NARROW_GUTTER_PX = 66;
const NARROW_PX = 520;

export function mapLayout(width: number, height: number): MapLayout {
  const x = width < NARROW_PX ? NARROW_GUTTER_PX : GUTTER_PX;
  const row = (y: number, size: number): Box => ({
    x,
    y,
    width: Math.max(1, width - x - 12),
    height: Math.max(1, size),
  });
  const plot = row(78, height - 78 - 10);
  return {
    minimap: row(8, 28),
    ticks: row(40, 18),
    marks: row(58, 18),
    lanes: { ...plot, x: 0, width: x },
    plot,
  };
}
