// What the pointer does in the map.

import { batch } from "@preact/signals";
import type { Gestures, Point } from "../../draw/gestures.ts";
import type { App } from "../../state/app.ts";
import { formatBytes, formatCount } from "../../units/units.ts";
import { Dragging } from "../shared/dragging.ts";
import { panBy, zoomBy } from "../shared/motion.ts";
import { hoveredAt } from "./hover.ts";
import type { MapPicture } from "./picture.ts";
import type { MapState } from "./state.ts";

export class MapPointing implements Gestures {
  private readonly dragging: Dragging;

  constructor(
    private readonly app: App,
    private readonly picture: MapPicture,
    private readonly state: MapState,
  ) {
    this.dragging = new Dragging(app, picture);
  }

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
    this.state.hover(this.picture, null);
    this.dragging.drag(from, to, done);
  }

  cancel(): void {
    this.dragging.cancel();
  }

  click(at: Point): void {
    const { app, picture } = this;
    if (this.dragging.click(at)) return;
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
}
