// What the pointer does in the timeline.

import { batch } from "@preact/signals";
import type { Gestures, Point } from "../../draw/gestures.ts";
import type { App } from "../../state/app.ts";
import { NONE } from "../../tiles/decode.ts";
import { formatBytes, formatCount } from "../../units/units.ts";
import { Dragging } from "../shared/dragging.ts";
import { panBy, zoomBy } from "../shared/motion.ts";
import { inside } from "../shared/rows.ts";
import { type Hovered, hoveredAt } from "./hover.ts";
import { selectionOf } from "./legend.tsx";
import type { TimelinePicture } from "./picture.ts";
import type { TimelineState } from "./state.ts";

export class Pointing implements Gestures {
  private readonly dragging: Dragging;

  constructor(
    private readonly app: App,
    private readonly picture: TimelinePicture,
    private readonly state: TimelineState,
  ) {
    this.dragging = new Dragging(app, picture);
  }

  zoom(at: Point, factorX: number, factorY: number): void {
    const { plot, minimap } = this.picture.layout;
    if (at.x < plot.x) this.state.zoomBytes(this.picture, factorX * factorY, at.y);
    else if (factorY !== 1) this.state.zoomBytes(this.picture, factorY, at.y);
    else if (inside(minimap, at)) zoomBy(this.app, factorX, 0.5);
    else zoomBy(this.app, factorX, (at.x - plot.x) / plot.width);
  }

  pan(dx: number, dy: number): void {
    const { plot } = this.picture.layout;
    if (dx !== 0) panBy(this.app, -dx / plot.width);
    if (dy !== 0) this.state.panBytes(this.picture, dy / plot.height);
  }

  drag(from: Point, to: Point, done: boolean): void {
    this.state.hover(this.picture, null);
    this.dragging.drag(from, to, done);
  }

  cancel(): void {
    this.dragging.cancel();
  }

  click(at: Point): void {
    if (this.dragging.click(at)) return;
    const hovered = hoveredAt(this.picture, at);
    if (hovered) this.choose(hovered, at);
  }

  hover(at: Point | null): void {
    this.state.hover(this.picture, at);
    const { plot } = this.picture.layout;
    this.app.hover.value = at && inside(plot, at) ? Math.floor(this.picture.axis.event(at.x - plot.x)) : null;
  }

  /** Puts the cursor there, and selects the block or the group. */
  private choose(hovered: Hovered, at: Point): void {
    const { app, picture } = this;
    const { mark, block, slice, group } = hovered;
    const under = Math.floor(picture.axis.event(at.x - picture.layout.plot.x));
    const grouping = picture.info.groupings.find(({ by }) => by === app.by.peek());
    batch(() => {
      app.cursor.value = mark?.event ?? (slice && slice.event >= hovered.from ? slice.event : under);
      if (block) app.selection.value = { kind: "block", block: block.id };
      else if (grouping && group !== null && group !== NONE)
        app.selection.value = selectionOf(grouping, group);
      else if (!mark) app.selection.value = null;
    });
    app.say(
      `event ${formatCount(app.cursor.peek())}, allocated ${formatBytes(hovered.series.allocated.max)}`,
    );
  }
}
