// Rules and labels of axes.

import { byteTicks } from "./axis.ts";
import type { Scale } from "./camera.ts";
import type { EventAxis } from "./eventaxis.ts";
import type { Colour, Theme } from "./palette.ts";
import type { Pen } from "./pen.ts";
import type { Batch, Box } from "./renderer.ts";

/** Adds a rule through the plot at each tick. scale maps bytes to pixels above the plot's lower edge. */
export function addRules(
  batch: Batch,
  colour: Colour,
  axis: EventAxis,
  scale: Scale,
  plot: Box,
  ratio: number,
): void {
  const thick = Math.max(1, Math.round(ratio));
  const [left, right] = [plot.x * ratio, (plot.x + plot.width) * ratio];
  const [top, bottom] = [plot.y * ratio, (plot.y + plot.height) * ratio];
  for (const { value } of byteTicks(scale.span, plot.height)) {
    const y = Math.round(bottom - scale(value) * ratio);
    batch.add(left, y, right, y + thick, colour);
  }
  for (const { x } of axis.ticks()) {
    const at = Math.round(left + x * ratio);
    if (at <= right) batch.add(at, top, at + thick, bottom, colour);
  }
}

/** Labels of the horizontal axis in a row, as many as have room. */
export function drawEventLabels(pen: Pen, theme: Theme, axis: EventAxis, row: Box): void {
  let free = 0;
  for (const { x, label } of axis.ticks()) {
    const half = pen.measure(label) / 2;
    const middle = Math.min(row.x + row.width - half, Math.max(row.x + half, row.x + x));
    if (middle - half < free + 12) continue;
    pen.text(label, middle, row.y + row.height / 2, { colour: theme.css("--text-quiet"), align: "center" });
    free = middle + half;
  }
}

/** Labels left of the plot. scale maps bytes to pixels above the plot's lower edge. */
export function drawByteLabels(pen: Pen, theme: Theme, scale: Scale, plot: Box): void {
  for (const { value, label } of byteTicks(scale.span, plot.height)) {
    const y = Math.min(plot.y + plot.height - scale(value), plot.y + plot.height - 5);
    pen.text(label, plot.x - 8, y, { colour: theme.css("--text-quiet"), align: "right" });
  }
}
