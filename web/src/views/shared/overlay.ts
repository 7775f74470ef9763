// What follows the cursor and marks in every picture over events.

import type { EventAxis } from "../../draw/eventaxis.ts";
import type { Theme } from "../../draw/palette.ts";
import type { Pen } from "../../draw/pen.ts";
import type { Box } from "../../draw/renderer.ts";
import type { Range } from "../../state/viewer.ts";

/** The marked range, between two rules. */
export function drawMarked(pen: Pen, theme: Theme, axis: EventAxis, plot: Box, marked: Range | null): void {
  if (!marked) return;
  const [left, right] = [plot.x + axis.x(marked.from), plot.x + axis.x(marked.to)];
  pen.box(left, plot.y, right - left, plot.height, theme.css("--accent", 0.14));
  for (const x of [left, right]) {
    pen.line(x, plot.y, x, plot.y + plot.height, { colour: theme.css("--accent"), dash: [4, 2] });
  }
}

/** The event under the cursor. */
export function drawCursor(pen: Pen, theme: Theme, axis: EventAxis, plot: Box, cursor: number): void {
  const x = Math.round(plot.x + axis.x(cursor + 0.5)) + 0.5;
  pen.line(x, plot.y - 4, x, plot.y + plot.height, { colour: theme.css("--accent"), width: 1.5 });
  pen.shape([x - 4, plot.y - 5, x + 4, plot.y - 5, x, plot.y + 1], theme.css("--accent"));
}

/** Events that the reader marked. */
export function drawFlags(
  pen: Pen,
  theme: Theme,
  axis: EventAxis,
  plot: Box,
  row: Box,
  marks: readonly number[],
): void {
  for (const event of marks) {
    const x = plot.x + axis.x(event + 0.5);
    pen.line(x, plot.y, x, plot.y + plot.height, { colour: theme.css("--accent"), dash: [1, 3] });
    pen.shape([x - 5, row.y, x + 5, row.y, x, row.y + 7], theme.css("--accent"));
  }
}
