// Lines of amounts over events: from the lowest to the highest value of each column, so that
// what happens within a pixel is seen as the height of the line.

import type { Colour } from "../../draw/palette.ts";
import type { Renderer } from "../../draw/renderer.ts";
import type { Columns } from "../../tiles/columns.ts";
import type { CountersTile } from "../../tiles/decode.ts";

export const seriesNames = ["reserved", "active", "allocated", "requested"] as const;
export type SeriesName = (typeof seriesNames)[number];

/** The lowest and the highest value in a column, and the last. */
export interface Extremes {
  readonly min: number;
  readonly max: number;
  readonly last: number;
}

export function extremesAt(columns: Columns<CountersTile>, c: number, name: SeriesName): Extremes {
  let min = Number.POSITIVE_INFINITY;
  let max = 0;
  let last = 0;
  for (let k = columns.first[c]!; k < columns.first[c + 1]!; k++) {
    const series = columns.tile[k]![name];
    const j = columns.bucket[k]!;
    min = Math.min(min, series.min[j]!);
    max = Math.max(max, series.max[j]!);
    last = series.last[j]!;
  }
  return { min, max, last };
}

/** Events of a column: from, up to but not with. */
export function eventsOf(columns: Columns<CountersTile>, c: number): { from: number; to: number } {
  const first = columns.first[c]!;
  const last = columns.first[c + 1]! - 1;
  return {
    from: columns.tile[first]!.edge[columns.bucket[first]!]!,
    to: columns.tile[last]!.edge[columns.bucket[last]! + 1]!,
  };
}

/** Paints a line of a thickness in pixels. It joins each column to the one before. */
export function paintLine(
  renderer: Renderer,
  columns: Columns<CountersTile>,
  name: SeriesName,
  colour: Colour,
  thick: number,
  toY: (bytes: number) => number,
): void {
  const { count, x } = columns;
  const low = new Float32Array(count);
  const high = new Float32Array(count);
  let joint: number | null = null;
  for (let c = 0; c < count; c++) {
    const { min, max, last } = extremesAt(columns, c, name);
    const bottom = Math.round(toY(min));
    const top = Math.round(toY(max));
    low[c] = Math.max(bottom, joint ?? bottom);
    high[c] = Math.min(top, joint ?? top) - thick;
    joint = Math.round(toY(last));
  }
  renderer.area({ count, x, low, high, colour });
}

/** The greatest value of an amount in all columns. */
export function greatest(columns: Columns<CountersTile>, name: SeriesName): number {
  let most = 0;
  for (let c = 0; c < columns.count; c++) most = Math.max(most, extremesAt(columns, c, name).max);
  return most;
}
