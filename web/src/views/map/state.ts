// What the map's parts share: what the app's state says of it, and what is under the pointer.

import { type Signal, signal } from "@preact/signals";
import { clamp, pan, type Span, zoom } from "../../draw/camera.ts";
import type { Point } from "../../draw/gestures.ts";
import type { App } from "../../state/app.ts";
import { type Hovered, hoveredAt } from "./hover.ts";
import type { MapPicture } from "./picture.ts";

/** The least height that the map is zoomed to: 16 of the smallest blocks. */
const LEAST_BYTES = 8192;

export class MapState {
  readonly pointer: Signal<Point | null> = signal(null);
  readonly hovered: Signal<Hovered | null> = signal(null);
  /** Free pieces at the cursor are marked. */
  readonly fragments: App["fragments"];

  constructor(private readonly app: App) {
    this.fragments = app.fragments;
  }

  hover(picture: MapPicture, at: Point | null): void {
    this.pointer.value = at;
    this.hovered.value = at && hoveredAt(picture, at);
  }

  /** Zooms up and down, about a pixel of the page. */
  zoomPlaces(picture: MapPicture, factor: number, y: number): void {
    this.set(
      picture,
      zoom(picture.places.span, factor, picture.placeAt(y), { ...picture.whole, least: LEAST_BYTES }),
    );
  }

  /** Moves up or down by a share of the height. */
  panPlaces(picture: MapPicture, share: number): void {
    this.set(picture, pan(picture.places.span, share, { ...picture.whole, least: LEAST_BYTES }));
  }

  private set(picture: MapPicture, span: Span): void {
    const { whole } = picture;
    const next = clamp(span, { ...whole, least: LEAST_BYTES });
    this.app.vertical.value = next.from <= whole.from && next.to >= whole.to ? null : next;
  }
}
