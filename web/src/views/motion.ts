// Moves the window that timeline and map share, by keys, wheel and fingers.

import { batch } from "@preact/signals";
import { type Bounds, clamp, framed, pan, type Span, zoom } from "../draw/camera.ts";
import { moved } from "../draw/eventaxis.ts";
import type { App } from "../state/app.ts";
import { deviceTiles } from "../tiles/shared.ts";

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
export function frameEvents(app: App, from: number, to: number): void {
  const events = app.device.peek()?.info.events ?? 1;
  app.range.value = framed({ from, to }, { from: 0, to: Math.max(1, events), least: 6 });
}

export function setRange(app: App, range: Span): void {
  const events = app.device.peek()?.info.events ?? 1;
  app.range.value = clamp(range, { from: 0, to: Math.max(1, events), least: 6 });
}

/** Shows what is marked, else everything. */
export function fit(app: App): void {
  batch(() => {
    const marked = app.marked.peek();
    const whole = app.whole.peek();
    const range = app.range.peek();
    if (
      marked &&
      !(
        range.from <= marked.from &&
        range.to >= marked.to &&
        range.to - range.from < 1.3 * (marked.to - marked.from)
      )
    ) {
      frameEvents(app, marked.from, marked.to);
    } else app.range.value = whole;
  });
}

/** The keys' meaning. share tells where the pointer is, as a share of the window. */
export function motionActions(app: App, share: () => number) {
  const by = (fast: boolean) => (fast ? FAST : STEP);
  return {
    "zoom-in": ({ fast }: { fast: boolean }) => zoomBy(app, by(fast).zoom, share()),
    "zoom-out": ({ fast }: { fast: boolean }) => zoomBy(app, 1 / by(fast).zoom, share()),
    "pan-left": ({ fast }: { fast: boolean }) => panBy(app, -by(fast).pan),
    "pan-right": ({ fast }: { fast: boolean }) => panBy(app, by(fast).pan),
    fit: () => fit(app),
  };
}
