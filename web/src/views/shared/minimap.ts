// The whole recording in small: what was allocated and reserved, and the window that is shown.

import { type Scale, scaleOf } from "../../draw/camera.ts";
import type { EventAxis } from "../../draw/eventaxis.ts";
import { mix } from "../../draw/palette.ts";
import { Batch, type Box } from "../../draw/renderer.ts";
import type { Frame } from "../../draw/stage.tsx";
import type { Range } from "../../state/viewer.ts";
import { columnsOf } from "../../tiles/columns.ts";
import type { CountersTile } from "../../tiles/decode.ts";
import { extremesAt, greatest, paintLine } from "./lines.ts";

/** How near the pointer must be to a side of the window to take hold of it. */
const GRIP_PX = 5;

export type Grip = "from" | "to" | "window" | "outside";

/** Paints it from the tile that covers the whole recording. */
export function paintMinimap(frame: Frame, box: Box, tile: CountersTile, axis: EventAxis): void {
  const { renderer, theme, ratio } = frame;
  const whole = { from: 0, to: tile.edge[tile.nx]! };
  const columns = columnsOf([{ tile, ...whole }], whole, (event) => (box.x + axis.x(event)) * ratio);
  const scale: Scale = scaleOf(
    { from: 0, to: Math.max(1, greatest(columns, "reserved")) },
    (box.height - 3) * ratio,
  );
  const bottom = Math.round((box.y + box.height) * ratio);
  const toY = (bytes: number) => bottom - scale(bytes);
  const { count, x } = columns;
  const low = new Float32Array(count).fill(bottom);
  const high = Float32Array.from({ length: count }, (_, c) =>
    Math.round(toY(extremesAt(columns, c, "allocated").max)),
  );
  const panel = theme.colour("--panel");
  renderer.area({ count, x, low, high, colour: mix(panel, theme.colour("--text-quiet"), 0.45) });
  paintLine(
    renderer,
    new Batch(),
    columns,
    "reserved",
    mix(panel, theme.colour("--text"), 0.7),
    Math.max(1, Math.round(ratio)),
    toY,
  );
}

/** The window, and a veil over what lies outside it. */
export function drawWindow({ pen, theme }: Frame, box: Box, axis: EventAxis, range: Range): void {
  const left = box.x + axis.x(range.from);
  const right = Math.max(left + 3, box.x + axis.x(range.to));
  const veil = theme.css("--panel", 0.62);
  pen.box(box.x, box.y, left - box.x, box.height, veil);
  pen.box(right, box.y, box.x + box.width - right, box.height, veil);
  pen.frame(left + 0.5, box.y + 0.5, right - left - 1, box.height - 1, { colour: theme.css("--accent") });
  for (const side of [left, right])
    pen.box(side - 1.5, box.y + box.height / 2 - 8, 3, 16, theme.css("--accent"));
  pen.line(box.x, box.y + box.height + 0.5, box.x + box.width, box.y + box.height + 0.5, {
    colour: theme.css("--line-strong"),
  });
}

/** What a press on the minimap takes hold of. x is in pixels of the box. */
export function gripAt(axis: EventAxis, range: Range, x: number): Grip {
  const from = axis.x(range.from);
  const to = axis.x(range.to);
  const wide = to - from > 4 * GRIP_PX;
  if (Math.abs(x - from) <= GRIP_PX && (wide || x < from)) return "from";
  if (Math.abs(x - to) <= GRIP_PX && (wide || x > to)) return "to";
  return x > from && x < to ? "window" : "outside";
}

/** The range after a drag from a point to another, both in pixels of the box. */
export function dragged(grip: Grip, axis: EventAxis, before: Range, fromX: number, toX: number): Range {
  const at = axis.event(toX);
  switch (grip) {
    case "from":
      return { from: Math.min(at, before.to - 1), to: before.to };
    case "to":
      return { from: before.from, to: Math.max(at, before.from + 1) };
    case "outside": {
      const start = axis.event(fromX);
      return { from: Math.min(start, at), to: Math.max(start, at) };
    }
    case "window": {
      const by = toX - fromX;
      return { from: axis.event(axis.x(before.from) + by), to: axis.event(axis.x(before.to) + by) };
    }
  }
}
