// Rules and labels of axes.

import { byteTicks, type Tick } from "./axis.ts";
import type { Scale } from "./camera.ts";
import type { EventAxis } from "./eventaxis.ts";
import type { Theme } from "./palette.ts";
import type { Pen } from "./pen.ts";
import type { Box } from "./renderer.ts";

/** Half a pixel further, so that a line of one pixel fills one. */
function crisp(at: number): number {
  return Math.round(at) + 0.5;
}

/** Labels in the row, and faint rules through the plot. */
export function drawEventAxis(pen: Pen, theme: Theme, axis: EventAxis, row: Box, plot: Box): void {
  const line = theme.css("--line");
  const text = theme.css("--text-quiet");
  let free = row.x - 8;
  for (const { x, label } of axis.ticks()) {
    const at = crisp(plot.x + x);
    pen.line(at, row.y + row.height - 4, at, plot.y + plot.height, { colour: line });
    const half = pen.measure(label) / 2;
    const middle = Math.min(row.x + row.width - half, Math.max(row.x + half, at));
    if (middle - half < free + 8) continue;
    pen.text(label, middle, row.y + row.height / 2 - 1, { colour: text, align: "center" });
    free = middle + half;
  }
}

/** Labels left of the plot, and faint rules through it. scale maps bytes to pixels above the plot's lower edge. */
export function drawByteAxis(pen: Pen, theme: Theme, scale: Scale, plot: Box): readonly Tick[] {
  const ticks = byteTicks(scale.span, plot.height);
  for (const { value, label } of ticks) {
    const y = plot.y + plot.height - scale(value);
    pen.line(plot.x, crisp(y), plot.x + plot.width, crisp(y), { colour: theme.css("--line") });
    pen.text(label, plot.x - 8, Math.min(y, plot.y + plot.height - 5), {
      colour: theme.css("--text-quiet"),
      align: "right",
    });
  }
  return ticks;
}
