// Moves the window that timeline and map share, by keys, wheel and fingers.

import { type Bounds, clamp, framed, pan, type Span, zoom } from "../../draw/camera.ts";
import { LEAST_EVENTS, moved } from "../../draw/eventaxis.ts";
import type { Box } from "../../draw/renderer.ts";
import type { App, Press } from "../../state/app.ts";
import { same } from "../../state/hash.ts";
import type { Range } from "../../state/viewer.ts";
import { deviceTiles } from "../../tiles/shared.ts";

/** A press of a key pans by this share of the window, and zooms by this factor; with Shift by more. */
const STEP = { pan: 0.12, zoom: 1.35 };
const FAST = { pan: 0.5, zoom: 2.5 };

/** Changes the range in the units of the axis that is shown. */
export function change(app: App, by: (span: Span, bounds: Bounds) => Span): void {
  const device = app.device.peek();
  if (!device) return;
  const clock = app.axis.peek() === "time" ? deviceTiles(device, app.source).clock : null;
  app.range.value = moved(app.range.peek(), device.info.events, clock, by);
}

export function panBy(app: App, share: number): void {
  change(app, (span, bounds) => pan(span, share, bounds));
}

/** Zooms about the point at a share of the window. */
export function zoomBy(app: App, factor: number, share: number): void {
  change(app, (span, bounds) => zoom(span, factor, span.from + share * (span.to - span.from), bounds));
}

/** Shows events from and to, with a margin. */
function frameEvents(app: App, from: number, to: number): void {
  const events = app.device.peek()?.info.events ?? 1;
  app.range.value = framed({ from, to }, { from: 0, to: Math.max(1, events), least: LEAST_EVENTS });
}

export function setRange(app: App, range: Span): void {
  const events = app.device.peek()?.info.events ?? 1;
  app.range.value = clamp(range, { from: 0, to: Math.max(1, events), least: LEAST_EVENTS });
}

/** Shows what is marked, else the life of what is selected; everything where neither is, or where it is shown already. */
export function fit(app: App, life: Range | null = null): void {
  const wanted = app.marked.peek() ?? life;
  const before = app.range.peek();
  if (wanted) frameEvents(app, wanted.from, wanted.to);
  if (!wanted || same(before, app.range.peek())) app.range.value = app.whole.peek();
}

/** Share of the window by which a key moves it. */
export function keyPan(fast: boolean): number {
  return fast ? FAST.pan : STEP.pan;
}

/** Factor by which a key zooms. */
export function keyZoom(fast: boolean): number {
  return fast ? FAST.zoom : STEP.zoom;
}

/** Where a pixel of the page lies in the plot, as a share of its width; the middle where it is elsewhere. */
export function shareOf(plot: Box, x: number | undefined): number {
  const share = x === undefined ? 0.5 : (x - plot.x) / plot.width;
  return share >= 0 && share <= 1 ? share : 0.5;
}

/** The keys' meaning. share tells where the pointer is, as a share of the window. */
export function motionActions(app: App, share: () => number) {
  return {
    "zoom-in": ({ fast }: Press) => zoomBy(app, keyZoom(fast), share()),
    "zoom-out": ({ fast }: Press) => zoomBy(app, 1 / keyZoom(fast), share()),
    "pan-left": ({ fast }: Press) => panBy(app, -keyPan(fast)),
    "pan-right": ({ fast }: Press) => panBy(app, keyPan(fast)),
  };
}
