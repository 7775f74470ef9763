// What the timeline's parts share: what the app's state says of it, and what is under the pointer.

import { type Signal, signal } from "@preact/signals";
import { clamp, pan, zoom } from "../../draw/camera.ts";
import type { Point } from "../../draw/gestures.ts";
import type { App } from "../../state/app.ts";
import { type SeriesName, seriesNames } from "../../state/viewer.ts";
import type { Slice } from "./bands.ts";
import { type Hovered, highestSlice, hoveredAt, sliceUnder } from "./hover.ts";
import { type TimelinePicture, wholeBytes } from "./picture.ts";

/** The least height that the plot is zoomed to. */
const LEAST_BYTES = 4096;

export class TimelineState {
  readonly bytes: App["height"];
  readonly lines: App["lines"];
  readonly blocks: App["blocks"];
  readonly pointer: Signal<Point | null> = signal(null);
  readonly hovered: Signal<Hovered | null> = signal(null);
  /** What the legend tells. */
  readonly slice: Signal<Slice | null> = signal(null);
  /** Blocks are not shown one by one, although they are asked for. */
  readonly tooMany = signal(false);

  constructor(app: App) {
    this.bytes = app.height;
    this.lines = app.lines;
    this.blocks = app.blocks;
  }

  hover(picture: TimelinePicture, at: Point | null): void {
    this.pointer.value = at;
    this.hovered.value = at && hoveredAt(picture, at);
  }

  /** Takes over what a picture shows after it was painted: what lies under the pointer may be another thing. */
  painted(picture: TimelinePicture, cursor: number): void {
    this.hover(picture, this.pointer.peek());
    this.show(picture, cursor);
  }

  /** What the legend tells, after the pointer or the cursor moved. */
  show(picture: TimelinePicture, cursor: number): void {
    const { plot } = picture.layout;
    const x = plot.x + picture.axis.x(cursor + 0.5);
    const pointer = this.hovered.peek() ? this.pointer.peek() : null;
    this.slice.value = sliceUnder(picture, pointer?.x ?? x) ?? highestSlice(picture);
    this.tooMany.value = picture.tooMany;
  }

  zoomBytes(picture: TimelinePicture, factor: number, y: number): void {
    const whole = wholeBytes(picture.info);
    const next = zoom(picture.bytes.span, factor, picture.bytesAt(y), { ...whole, least: LEAST_BYTES });
    this.bytes.value = next.from <= whole.from && next.to >= whole.to ? null : next;
  }

  /** Moves up or down by a share of the height, where less than the whole is shown. */
  panBytes(picture: TimelinePicture, share: number): void {
    const bytes = this.bytes.peek();
    if (bytes === null || bytes === "window") return;
    const bounds = { ...wholeBytes(picture.info), least: LEAST_BYTES };
    this.bytes.value = clamp(pan(bytes, share, bounds), bounds);
  }

  toggleLine(name: SeriesName): void {
    const lines = this.lines.peek();
    this.lines.value = seriesNames.filter((each) => (each === name) !== lines.includes(each));
  }
}
