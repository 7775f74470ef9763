// Words that the page's state is made of; the state itself is App.

import type { Device, DeviceRef, GroupBy } from "../source/api.ts";

export type ViewName = "timeline" | "map" | "moment" | "flame" | "tables" | "findings" | "compare" | "tune";

/** Events, from and to, with fractions while a view is being dragged; from < to. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** What is selected: a row of table/blocks, a site, a segment by its address, or a group of a grouping. */
export type Selection =
  | { readonly kind: "block"; readonly block: number }
  | { readonly kind: "site"; readonly site: number }
  | { readonly kind: "segment"; readonly address: string }
  | { readonly kind: "group"; readonly by: GroupBy; readonly group: number };

/** Amounts of memory that are known after every event. */
export const seriesNames = ["reserved", "active", "allocated", "requested"] as const;
export type SeriesName = (typeof seriesNames)[number];

export type Axis = "events" | "time";
/** What a wheel does by itself on timeline and map; with Ctrl it zooms in both. */
export type WheelScheme = "zoom" | "scroll";

export type Theme = "light" | "dark";
export type RendererChoice = "auto" | "canvas" | "webgl";

/** What a device is asked under, and what it is made of. */
export interface OpenDevice {
  readonly ref: DeviceRef;
  readonly info: Device;
}
