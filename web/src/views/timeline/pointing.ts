// What the pointer does in the timeline.

import { batch } from "@preact/signals";
import type { Gestures, Point } from "../../draw/gestures.ts";
import type { App } from "../../state/app.ts";
import type { Range } from "../../state/viewer.ts";
import { NONE } from "../../tiles/decode.ts";
import { formatBytes, formatCount } from "../../units/units.ts";
import { panBy, setRange, zoomBy } from "../motion.ts";
import { type Hovered, hoveredAt } from "./hover.ts";
import { inside } from "./layout.ts";
import { selectionOf } from "./legend.tsx";
import { dragged, type Grip, gripAt } from "./minimap.ts";
import type { TimelinePicture } from "./picture.ts";
import type { TimelineState } from "./state.ts";

/** What a drag on the minimap took hold of, and the range before it. */
interface Hold {
  readonly grip: Grip;
  readonly range: Range;
}

export class Pointing implements Gestures {
  private hold: Hold | null = null;
  private before: Range | null = null;
  private dragging = false;

  constructor(
    private readonly app: App,
    private readonly picture: TimelinePicture,
    private readonly state: TimelineState,
  ) {}

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
    if (!this.dragging) this.begin(from);
    this.dragging = !done;
    this.state.hover(this.picture, null);
    const { minimap } = this.picture.layout;
    if (this.hold) {
      const { grip, range } = this.hold;
      setRange(this.app, dragged(grip, this.picture.overview, range, from.x - minimap.x, to.x - minimap.x));
    } else this.mark(from.x, to.x, done);
  }

  cancel(): void {
    this.dragging = false;
    if (this.hold) this.app.range.value = this.hold.range;
    else this.app.marked.value = this.before;
  }

  click(at: Point): void {
    const { minimap } = this.picture.layout;
    if (inside(minimap, at)) {
      const { from, to } = this.app.range.peek();
      const middle = this.picture.overview.event(at.x - minimap.x);
      setRange(this.app, { from: middle - (to - from) / 2, to: middle + (to - from) / 2 });
      return;
    }
    const hovered = hoveredAt(this.picture, at);
    if (hovered) this.choose(hovered, at);
  }

  hover(at: Point | null): void {
    this.state.hover(this.picture, at);
    const { plot } = this.picture.layout;
    this.app.hover.value = at && inside(plot, at) ? Math.floor(this.picture.axis.event(at.x - plot.x)) : null;
  }

  private begin(from: Point): void {
    const { minimap } = this.picture.layout;
    this.before = this.app.marked.peek();
    const range = this.app.range.peek();
    this.hold = inside(minimap, from)
      ? { grip: gripAt(this.picture.overview, range, from.x - minimap.x), range }
      : null;
  }

  /** Marks whole events between two pixels of the page. */
  private mark(x0: number, x1: number, done: boolean): void {
    const { axis, layout, info } = this.picture;
    const eventAt = (x: number) => Math.min(info.events, Math.max(0, axis.event(x - layout.plot.x)));
    const [from, to] = [Math.floor(eventAt(Math.min(x0, x1))), Math.ceil(eventAt(Math.max(x0, x1)))];
    this.app.marked.value = to > from ? { from, to } : null;
    if (done && to > from)
      this.app.say(
        `range of ${formatCount(to - from)} events, from ${formatCount(from)} to ${formatCount(to - 1)}`,
      );
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
