// Drags in a picture over events: over the plot they mark a range, over the small picture of
// the whole they move the window.

import type { EventAxis } from "../../draw/eventaxis.ts";
import type { Point } from "../../draw/gestures.ts";
import type { Device } from "../../source/api.ts";
import type { App } from "../../state/app.ts";
import type { Range } from "../../state/viewer.ts";
import { formatCount } from "../../units/units.ts";
import { dragged, type Grip, gripAt } from "./minimap.ts";
import { setRange } from "./motion.ts";
import { inside, type Rows } from "./rows.ts";

/** What a picture tells of itself. */
export interface Draggable {
  readonly info: Device;
  readonly layout: Rows;
  readonly axis: EventAxis;
  /** The axis of the small picture. */
  readonly overview: EventAxis;
}

export class Dragging {
  /** What a drag on the small picture took hold of, and the range before it. */
  private hold: { readonly grip: Grip; readonly range: Range } | null = null;
  /** The marked range before a drag. */
  private before: Range | null = null;
  private going = false;

  constructor(
    private readonly app: App,
    private readonly picture: Draggable,
  ) {}

  drag(from: Point, to: Point, done: boolean): void {
    if (!this.going) this.begin(from);
    this.going = !done;
    const { minimap } = this.picture.layout;
    if (!this.hold) {
      this.mark(from.x, to.x, done);
      return;
    }
    const { grip, range } = this.hold;
    setRange(this.app, dragged(grip, this.picture.overview, range, from.x - minimap.x, to.x - minimap.x));
  }

  /** Puts back what was before. */
  cancel(): void {
    this.going = false;
    if (this.hold) this.app.range.value = this.hold.range;
    else this.app.marked.value = this.before;
  }

  /** A click on the small picture moves the window there. Tells whether it was one. */
  click(at: Point): boolean {
    const { overview, layout } = this.picture;
    if (!inside(layout.minimap, at)) return false;
    const { from, to } = this.app.range.peek();
    const middle = overview.event(at.x - layout.minimap.x);
    setRange(this.app, { from: middle - (to - from) / 2, to: middle + (to - from) / 2 });
    return true;
  }

  private begin(from: Point): void {
    const { overview, layout } = this.picture;
    const range = this.app.range.peek();
    this.before = this.app.marked.peek();
    const held = inside(layout.minimap, from);
    this.hold = held ? { grip: gripAt(overview, range, from.x - layout.minimap.x), range } : null;
  }

  /** Marks whole events between two pixels of the page. */
  private mark(x0: number, x1: number, done: boolean): void {
    const { axis, layout, info } = this.picture;
    const eventAt = (x: number) => Math.min(info.events, Math.max(0, axis.event(x - layout.plot.x)));
    const from = Math.floor(eventAt(Math.min(x0, x1)));
    const to = Math.ceil(eventAt(Math.max(x0, x1)));
    this.app.marked.value = to > from ? { from, to } : null;
    if (!done || to <= from) return;
    this.app.say(
      `range of ${formatCount(to - from)} events, from ${formatCount(from)} to ${formatCount(to - 1)}`,
    );
  }
}
