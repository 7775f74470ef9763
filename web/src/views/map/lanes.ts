// The vertical axis of the map: ranges of addresses laid end to end, with the gaps between
// them taken out.

import { byteTicks } from "../../draw/axis.ts";
import type { Scale } from "../../draw/camera.ts";
import { lastAtMost } from "../../draw/clock.ts";
import type { Theme } from "../../draw/palette.ts";
import type { Pen } from "../../draw/pen.ts";
import type { Box } from "../../draw/renderer.ts";
import type { Lane } from "../../source/api.ts";
import { formatBytes } from "../../units/units.ts";

/** A lane that ends less than this below the last is left out. */
const LEAST_PX = 0.5;

/** Heights in pixels from which on a lane has a rule, a gap in the strip, its address, and more of it. */
const RULE_PX = 10;
const GAP_PX = 3;
const ADDRESS_PX = 14;
const DETAIL_PX = 30;

export class Lanes {
  private readonly offsets: Float64Array;

  constructor(readonly list: readonly Lane[]) {
    this.offsets = Float64Array.from(list, (lane) => lane.offset_bytes);
  }

  /** The lane at a place of the axis, in bytes; null beyond its ends. */
  at(place: number): Lane | null {
    const lane = this.list[lastAtMost(this.offsets, place)];
    return lane && place < lane.offset_bytes + lane.size_bytes ? lane : null;
  }

  /** Lanes that a part of the axis meets. */
  within(from: number, to: number): readonly Lane[] {
    return this.list.slice(Math.max(0, lastAtMost(this.offsets, from)), lastAtMost(this.offsets, to) + 1);
  }

  /** The address at a place, as text; null beyond the ends. */
  address(place: number): string | null {
    const lane = this.at(place);
    return lane && `0x${(BigInt(lane.address) + BigInt(Math.floor(place - lane.offset_bytes))).toString(16)}`;
  }

  /** The place of an address; null where no lane has it. */
  place(address: string): number | null {
    const wanted = BigInt(address);
    const lane = this.list.find(
      (each) => wanted >= BigInt(each.address) && wanted < BigInt(each.address) + BigInt(each.size_bytes),
    );
    return lane ? lane.offset_bytes + Number(wanted - BigInt(lane.address)) : null;
  }
}

/** "small pool, stream 0x0": what is allocated in a lane. */
export function laneWords(lane: Lane): string {
  const pool = lane.pool === "" || lane.pool === "0.0" ? "" : `, private pool ${lane.pool}`;
  const stream = lane.stream === "0x0" ? "" : `, stream ${lane.stream}`;
  return `${lane.expandable ? "expandable, " : ""}${lane.small ? "small" : "large"} blocks${stream}${pool}`;
}

/** The custom property of the strip beside a lane, by what is allocated in it. */
function laneToken(lane: Lane): string {
  if (lane.pool !== "" && lane.pool !== "0.0") return "--warn";
  if (lane.stream !== "0x0") return "--accent";
  return lane.small ? "--text-quiet" : "--control-line";
}

/** Names of lanes where there is room, else amounts along the axis, and rules between lanes. toY maps bytes to the page. */
export function drawLanes(
  pen: Pen,
  theme: Theme,
  lanes: Lanes,
  scale: Scale,
  gutter: Box,
  plot: Box,
  toY: (place: number) => number,
): void {
  let named = false;
  let painted = Number.NEGATIVE_INFINITY;
  for (const lane of lanes.within(scale.span.from, scale.span.to)) {
    const top = Math.max(plot.y, toY(lane.offset_bytes));
    const bottom = Math.min(plot.y + plot.height, toY(lane.offset_bytes + lane.size_bytes));
    if (bottom <= top || bottom < painted + LEAST_PX) continue; // of thousands, those that can be seen
    painted = bottom;
    drawStrip(pen, theme, lane, plot, top, bottom);
    named = drawName(pen, theme, lane, gutter, top, bottom) || named;
  }
  if (!named) drawAmounts(pen, theme, scale, gutter, toY);
}

/** What the lane is for, as a strip left of the plot; and a rule where it begins. */
function drawStrip(pen: Pen, theme: Theme, lane: Lane, plot: Box, top: number, bottom: number): void {
  const gap = bottom - top >= GAP_PX ? 1 : 0;
  pen.box(plot.x - 5, top + gap, 4, Math.max(LEAST_PX, bottom - top - gap), theme.css(laneToken(lane)));
  if (bottom - top < RULE_PX) return;
  const y = Math.round(top) + 0.5;
  pen.line(plot.x, y, plot.x + plot.width, y, { colour: theme.css("--line") });
}

function drawName(pen: Pen, theme: Theme, lane: Lane, gutter: Box, top: number, bottom: number): boolean {
  if (bottom - top < ADDRESS_PX) return false;
  const right = gutter.width - 10;
  const address = pen.measure(lane.address) < right - 2 ? lane.address : `…${lane.address.slice(-7)}`;
  pen.text(address, right, top + 8, { colour: theme.css("--text"), align: "right" });
  const detail = `${formatBytes(lane.size_bytes)}${lane.small ? ", small" : ""}`;
  if (bottom - top >= DETAIL_PX && pen.measure(detail) < right - 2) {
    pen.text(detail, right, top + 22, { colour: theme.css("--text-quiet"), align: "right" });
  }
  return true;
}

/** How much lies above, in rounded amounts. */
function drawAmounts(
  pen: Pen,
  theme: Theme,
  scale: Scale,
  gutter: Box,
  toY: (place: number) => number,
): void {
  for (const { value, label } of byteTicks(scale.span, gutter.height)) {
    const y = toY(value);
    pen.line(gutter.width - 9, Math.round(y) + 0.5, gutter.width - 6, Math.round(y) + 0.5, {
      colour: theme.css("--control-line"),
    });
    pen.text(label, gutter.width - 12, Math.min(gutter.y + gutter.height - 6, Math.max(gutter.y + 5, y)), {
      colour: theme.css("--text-quiet"),
      align: "right",
    });
  }
}
