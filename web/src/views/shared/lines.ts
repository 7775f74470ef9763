// Lines of amounts over events: from the lowest to the highest value of each column, so that
// what happens within a pixel is seen as the height of the line.

import { type Colour, withAlpha } from "../../draw/palette.ts";
import type { Batch, Renderer } from "../../draw/renderer.ts";
import type { SeriesName } from "../../state/viewer.ts";
import type { Columns } from "../../tiles/columns.ts";
import type { CountersTile } from "../../tiles/decode.ts";

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

/**
 * Paints a line of a thickness in pixels: in each column from the lowest to the highest
 * value, and at its left side a joint to where the column before ended. A column that is
 * wide and has more than one value, because finer tiles are still to come, is paler.
 */
export function paintLine(
  renderer: Renderer,
  batch: Batch,
  columns: Columns<CountersTile>,
  name: SeriesName,
  colour: Colour,
  thick: number,
  toY: (bytes: number) => number,
): void {
  const { count, x } = columns;
  const pale = withAlpha(colour, 0.3);
  let joint: number | null = null;
  batch.clear();
  for (let c = 0; c < count; c++) {
    const { min, max, last } = extremesAt(columns, c, name);
    const [bottom, top, end] = [Math.round(toY(min)), Math.round(toY(max)) - thick, Math.round(toY(last))];
    const [left, right] = [x[c]!, x[c + 1]!];
    const blurred = right - left > 3 * thick && bottom - top > 2 * thick;
    batch.add(left, top, right, bottom, blurred ? pale : colour);
    if (blurred) batch.add(left, end - thick, right, end, colour);
    if (joint !== null && (joint < top + thick || joint > bottom)) {
      batch.add(
        left,
        Math.min(top, joint - thick),
        Math.min(right, left + thick),
        Math.max(bottom, joint),
        colour,
      );
    }
    joint = end;
  }
  renderer.rects(batch);
}

/** The greatest value of an amount in all columns. */
export function greatest(columns: Columns<CountersTile>, name: SeriesName): number {
  let most = 0;
  for (let c = 0; c < columns.count; c++) most = Math.max(most, extremesAt(columns, c, name).max);
  return most;
}
