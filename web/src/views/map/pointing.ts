// What the pointer does in the map.

import { batch } from "@preact/signals";
import type { Gestures, Point } from "../../draw/gestures.ts";
import type { App } from "../../state/app.ts";
import type { Range } from "../../state/viewer.ts";
import { formatBytes, formatCount } from "../../units/units.ts";
import { panBy, setRange, zoomBy } from "../motion.ts";
import { inside } from "../timeline/layout.ts";
import { dragged, type Grip, gripAt } from "../timeline/minimap.ts";
import { hoveredAt } from "./hover.ts";
import type { MapPicture } from "./picture.ts";
import type { MapState } from "./state.ts";

export class MapPointing implements Gestures {
  private hold: { readonly grip: Grip; readonly range: Range } | null = null;
  private before: Range | null = null;
  private dragging = false;

  constructor(
    private readonly app: App,
    private readonly picture: MapPicture,
    private readonly state: MapState,
  ) {}

  /** Over the plot both ways at once, over the names of lanes up and down, above the plot sideways. */
  zoom(at: Point, factorX: number, factorY: number): void {
    const { plot } = this.picture.layout;
    const vertical = factorY !== 1 ? factorY : at.y >= plot.y ? factorX : 1;
    if (vertical !== 1) this.state.zoomPlaces(this.picture, vertical, at.y);
    if (factorX !== 1 && at.x >= plot.x) zoomBy(this.app, factorX, (at.x - plot.x) / plot.width);
  }

  pan(dx: number, dy: number): void {
    const { plot } = this.picture.layout;
    if (dx !== 0) panBy(this.app, -dx / plot.width);
    if (dy !== 0) this.state.panPlaces(this.picture, -dy / plot.height);
  }

  drag(from: Point, to: Point, done: boolean): void {
    const { minimap } = this.picture.layout;
    if (!this.dragging) this.begin(from);
    this.dragging = !done;
    this.state.hover(this.picture, null);
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
    const { app, picture } = this;
    const { minimap } = picture.layout;
    if (inside(minimap, at)) {
      const { from, to } = app.range.peek();
      const middle = picture.overview.event(at.x - minimap.x);
      setRange(app, { from: middle - (to - from) / 2, to: middle + (to - from) / 2 });
      return;
    }
    const hovered = hoveredAt(picture, at);
    if (!hovered || hovered.event < 0) return;
    const { block } = hovered;
    batch(() => {
      app.cursor.value = hovered.event;
      app.selection.value = block && { kind: "block", block: block.id };
    });
    app.say(
      block
        ? `block ${formatCount(block.id)}, ${formatBytes(block.size * picture.unit)}, at event ${formatCount(hovered.event)}`
        : `event ${formatCount(hovered.event)}`,
    );
  }

  hover(at: Point | null): void {
    this.state.hover(this.picture, at);
    const event = this.state.hovered.peek()?.event ?? -1;
    this.app.hover.value = event >= 0 ? event : null;
  }

  private begin(from: Point): void {
    const { minimap } = this.picture.layout;
    const range = this.app.range.peek();
    this.before = this.app.marked.peek();
    this.hold = inside(minimap, from)
      ? { grip: gripAt(this.picture.overview, range, from.x - minimap.x), range }
      : null;
  }

  private mark(x0: number, x1: number, done: boolean): void {
    const { picture, app } = this;
    const eventAt = (x: number) => Math.min(picture.info.events, Math.max(0, picture.eventAt(x)));
    const [from, to] = [Math.floor(eventAt(Math.min(x0, x1))), Math.ceil(eventAt(Math.max(x0, x1)))];
    app.marked.value = to > from ? { from, to } : null;
    if (done && to > from)
      app.say(
        `range of ${formatCount(to - from)} events, from ${formatCount(from)} to ${formatCount(to - 1)}`,
      );
  }
}
