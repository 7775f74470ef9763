// What happened: errors, retries, snapshots, annotations and steps, in a row above the plot.
// Each kind has a sign of its own shape, so that none is told by colour alone.

import { lastAtMost } from "../../draw/clock.ts";
import type { EventAxis } from "../../draw/eventaxis.ts";
import type { Theme } from "../../draw/palette.ts";
import { fitted, type Pen } from "../../draw/pen.ts";
import type { Box } from "../../draw/renderer.ts";
import type { Device, Mark, MarkKind } from "../../source/api.ts";

export const markTitles: Readonly<Record<MarkKind, string>> = {
  oom: "out of memory",
  retry: "cache given back, then tried again",
  snapshot: "snapshot",
  annotation: "annotation",
};

const COLOURS: Readonly<Record<MarkKind, string>> = {
  oom: "--bad",
  retry: "--warn",
  snapshot: "--text-quiet",
  annotation: "--text-quiet",
};

/** Signs of one kind that are nearer to the last one are left out: they would be a bar. */
const APART_PX = 6;

/** Steps narrower than this have no rules. */
const LEAST_STEP_PX = 10;

/** Rules and numbers of steps. */
export function drawSteps(pen: Pen, theme: Theme, axis: EventAxis, info: Device, row: Box, plot: Box): void {
  const { bounds, count, name } = info.steps;
  const first = Math.max(0, lastAtMost(bounds, axis.range.from));
  const last = Math.min(count - 1, lastAtMost(bounds, axis.range.to));
  if (count === 0 || last < first || axis.px / (last - first + 1) < LEAST_STEP_PX) return;
  for (let step = first; step <= last; step++) {
    const left = plot.x + axis.x(bounds[step]!);
    const right = plot.x + axis.x(bounds[step + 1] ?? info.events);
    if (step % 2 === 0) pen.box(left, row.y, right - left, row.height, theme.css("--sunken"));
    if (left >= plot.x)
      pen.line(left, row.y, left, plot.y + plot.height, { colour: theme.css("--line-strong"), dash: [2, 3] });
    const from = Math.max(left, plot.x);
    const label = [`${name} ${step}`, String(step)].find((text) => pen.measure(text) < right - from - 8);
    if (label) pen.text(label, from + 4, row.y + row.height / 2, { colour: theme.css("--text-quiet") });
  }
}

/** Signs of the marks in the window, and rules through the plot for errors and retries. */
export function drawMarks(
  pen: Pen,
  theme: Theme,
  axis: EventAxis,
  marks: readonly Mark[],
  row: Box,
  plot: Box,
): void {
  const shown = marks.filter(({ event }) => event + 1 >= axis.range.from && event <= axis.range.to);
  for (const kind of ["annotation", "snapshot", "retry", "oom"] as const) {
    const colour = theme.css(COLOURS[kind]);
    let before = Number.NEGATIVE_INFINITY;
    for (const mark of shown) {
      const x = plot.x + axis.x(mark.event + 0.5);
      if (mark.kind !== kind || x < before + APART_PX) continue;
      before = x;
      if (kind === "oom" || kind === "retry") {
        const dash = kind === "oom" ? [] : [3, 3];
        pen.line(x, row.y + row.height, x, plot.y + plot.height, { colour, dash });
      }
      drawSign(pen, kind, x, row.y + row.height / 2, colour);
    }
  }
  drawNames(pen, theme, axis, shown, row, plot);
}

/** A cross, a triangle, a diamond or a flag. */
function drawSign(pen: Pen, kind: MarkKind, x: number, y: number, colour: string): void {
  switch (kind) {
    case "oom":
      pen.line(x - 4, y - 4, x + 4, y + 4, { colour, width: 2 });
      pen.line(x - 4, y + 4, x + 4, y - 4, { colour, width: 2 });
      break;
    case "retry":
      pen.shape([x, y - 5, x + 5, y + 4, x - 5, y + 4], colour);
      break;
    case "snapshot":
      pen.shape([x, y - 5, x + 4, y, x, y + 5, x - 4, y], colour);
      break;
    case "annotation":
      pen.line(x, y - 6, x, y + 8, { colour });
      pen.shape([x, y - 6, x + 6, y - 3, x, y], colour);
  }
}

/** Names of the error and of annotations, as far as there is room before the next sign. */
function drawNames(
  pen: Pen,
  theme: Theme,
  axis: EventAxis,
  shown: readonly Mark[],
  row: Box,
  plot: Box,
): void {
  const xs = shown.map(({ event }) => plot.x + axis.x(event + 0.5));
  shown.forEach(({ kind, text }, i) => {
    if (kind !== "oom" && kind !== "annotation") return;
    const colour = theme.css(kind === "oom" ? "--bad" : "--text-quiet");
    const name = kind === "oom" ? "out of memory" : shortName(text);
    const x = xs[i]!;
    const y = row.y + row.height / 2;
    const halo = theme.css("--panel");
    const before = x - (xs[i - 1] ?? plot.x) - 16;
    const after = (xs[i + 1] ?? plot.x + plot.width) - x - 12;
    const right = fitted(pen, name, after);
    if (right) pen.text(right, x + 9, y, { colour, halo, bold: kind === "oom" });
    else if (kind === "oom" && pen.measure(name, true) < before)
      pen.text(name, x - 9, y, { colour, halo, bold: true, align: "right" });
  });
}

/** What comes after the profiler's own word for the place: "AdamW.step" of "Optimizer.step#AdamW.step". */
function shortName(annotation: string): string {
  return annotation.slice(annotation.indexOf("#") + 1);
}

/** The mark nearest to a pixel of the row, within reach of a pointer. */
export function markAt(axis: EventAxis, marks: readonly Mark[], x: number): Mark | null {
  let best: Mark | null = null;
  let least = 7;
  for (const mark of marks) {
    const distance = Math.abs(axis.x(mark.event + 0.5) - x);
    // Of two at the same place the graver counts: they stand in that order in the row too.
    if (distance < least || (distance === least && mark.kind === "oom")) [best, least] = [mark, distance];
  }
  return best;
}
