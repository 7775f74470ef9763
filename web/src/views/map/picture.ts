// Paints the map, and remembers what it painted where, for the pointer.

import { levelFor, type Scale, type Span, scaleOf, unscale, width } from "../../draw/camera.ts";
import { EventAxis } from "../../draw/eventaxis.ts";
import { Batch } from "../../draw/renderer.ts";
import { drawEventLabels } from "../../draw/rulers.ts";
import type { Frame } from "../../draw/stage.tsx";
import type { Device, GroupBy } from "../../source/api.ts";
import type { Axis, Range, Selection } from "../../state/viewer.ts";
import { along, type Picture, type Place, parent, tilesOf } from "../../tiles/address.ts";
import type { CountersTile } from "../../tiles/decode.ts";
import type { DeviceTiles } from "../../tiles/shared.ts";
import { groupColours } from "../shared/colours.ts";
import { drawMarks, drawSteps } from "../shared/marks.ts";
import { drawWindow, paintMinimap } from "../shared/minimap.ts";
import { drawCursor, drawFlags, drawMarked } from "../shared/overlay.ts";
import { drawLanes, Lanes } from "./lanes.ts";
import { type MapLayout, mapLayout } from "./layout.ts";
import { Rasters } from "./raster.ts";
import { addBlocks, addSegments, type MapScales, type Patch, patchesOf } from "./rects.ts";

/** What the reader chose to see. */
export interface MapWishes {
  readonly range: Range;
  readonly axis: Axis;
  readonly by: GroupBy;
  /** Bytes of the vertical axis; null for all of it. */
  readonly vertical: Range | null;
  readonly selection: Selection | null;
}

/** A part of the map with a frame around it: events, and bytes of the vertical axis. */
export interface Framed {
  readonly from: number;
  readonly to: number;
  readonly place: number;
  readonly size: number;
}

export interface MapTouches {
  readonly cursor: number;
  readonly marked: Range | null;
  readonly marks: readonly number[];
  readonly pointer: { readonly x: number; readonly y: number } | null;
  /** The selected block. */
  readonly selected: Framed | null;
  /** What is free between blocks at the cursor, in bytes of the vertical axis. */
  readonly holes: readonly { readonly place: number; readonly size: number }[];
  /** Blocks that keep half-empty segments from being returned, at the cursor. */
  readonly pins: readonly Framed[];
}

/**
 * Buckets are this wide and high, or up to twice that. What is smaller than a bucket has no
 * colour of its own, and a cell of the raster is two buckets. Blocks are mostly wide and low.
 */
const BUCKET_PX = { x: 0.5, y: 0.25 };

/** Cells within which an axis of time is taken to be straight. */
const TIME_STRIP = 2;

export class MapPicture {
  layout: MapLayout;
  axis: EventAxis;
  overview: EventAxis;
  /** Bytes of the vertical axis to pixels below the plot's upper edge. */
  places: Scale = scaleOf({ from: 0, to: 1 }, 1);
  blocks: readonly Patch[] = [];
  segments: readonly Patch[] = [];
  readonly lanes: Lanes;
  /** Bytes of a unit of place. */
  readonly unit: number;
  private readonly batch = new Batch();
  private readonly rasters = new Rasters();

  constructor(
    readonly info: Device,
    private readonly tiles: DeviceTiles,
  ) {
    this.layout = mapLayout(1, 1, info);
    this.axis = new EventAxis({ from: 0, to: Math.max(1, info.events) }, 1, null);
    this.overview = this.axis;
    this.lanes = new Lanes(info.lanes);
    this.unit = info.tiles.unit_bytes;
  }

  /** Paints the picture, from the tiles that are here, and asks for those that are not. */
  paint(frame: Frame, wishes: MapWishes): void {
    this.layout = mapLayout(frame.width, frame.height, this.info);
    const { plot, minimap } = this.layout;
    const clock = wishes.axis === "time" ? this.tiles.clock : null;
    this.overview = new EventAxis({ from: 0, to: Math.max(1, this.info.events) }, minimap.width, clock);
    this.axis = new EventAxis(wishes.range, plot.width, clock);
    this.places = scaleOf(wishes.vertical ?? this.whole, plot.height);
    this.gather(wishes);
    this.paintRects(frame, wishes);
    this.paintMinimap(frame);
  }

  touch(frame: Frame, wishes: MapWishes, touches: MapTouches): void {
    const { pen, theme } = frame;
    const { plot, marks, steps, ticks, minimap, lanes } = this.layout;
    drawLanes(pen, theme, this.lanes, this.places, lanes, plot, (place) => this.y(place));
    pen.within(plot.x, steps.y, plot.width, frame.height, () => {
      drawSteps(pen, theme, this.axis, this.info, steps, plot);
    });
    drawEventLabels(pen, theme, this.axis, ticks);
    drawWindow(frame, minimap, this.overview, wishes.range);
    pen.within(plot.x, marks.y, plot.width, frame.height, () => {
      drawMarked(pen, theme, this.axis, plot, touches.marked);
      drawMarks(pen, theme, this.axis, this.info.marks, marks, plot);
      for (const pin of touches.pins) this.drawFrame(frame, pin, "--bad", 1.5);
      if (touches.selected) this.drawFrame(frame, touches.selected, "--text", 2);
      drawFlags(pen, theme, this.axis, plot, marks, touches.marks);
      this.drawPointer(frame, touches);
      drawCursor(pen, theme, this.axis, plot, touches.cursor);
      this.drawHoles(frame, touches);
    });
  }

  /** The whole of the vertical axis. */
  get whole(): Span {
    return { from: 0, to: Math.max(1, this.info.height_bytes) };
  }

  /** Pixel of the page for a place in bytes. */
  y(place: number): number {
    return this.layout.plot.y + this.places(place);
  }

  /** Place in bytes at a pixel of the page. */
  placeAt(y: number): number {
    return unscale(this.places, y - this.layout.plot.y);
  }

  eventAt(x: number): number {
    return this.axis.event(x - this.layout.plot.x);
  }

  private gather({ range, by }: MapWishes): void {
    const { plot } = this.layout;
    const { tiles, events } = this.info;
    const level = levelFor(width(range) / plot.width, tiles.max_level, BUCKET_PX.x);
    const levelY = levelFor(
      width(this.places.span) / this.unit / plot.height,
      tiles.max_level_y,
      BUCKET_PX.y,
    );
    const rows = { from: this.places.span.from / this.unit, to: this.places.span.to / this.unit };
    const places = gridOf(range, level, events, rows, levelY, this.info.height_bytes / this.unit);
    this.blocks = this.take("blocks", { kind: "map", by }, places);
    this.segments = this.take("segments", { kind: "segments" }, places);
    const counters = along(tiles.max_level, 0);
    this.tiles.store.want("counters", { kind: "counters" }, [counters], []);
  }

  private take(asker: string, picture: Picture, places: readonly Place[]): readonly Patch[] {
    const { store } = this.tiles;
    const { max_level: level, max_level_y: levelY } = this.info.tiles;
    const parents = places.map((place) => parent(place, { level, levelY })).filter((place) => place !== null);
    store.want(asker, picture, places, parents);
    return patchesOf(store, picture, places);
  }

  private paintRects(frame: Frame, wishes: MapWishes): void {
    const { renderer, theme, ratio } = frame;
    const { plot } = this.layout;
    const [x, y] = [Math.round(plot.x * ratio), Math.round(plot.y * ratio)];
    const toX = (event: number) => (plot.x + this.axis.x(event)) * ratio;
    const scales: MapScales = { toX, toY: (units) => this.y(units * this.unit) * ratio };
    const free = theme.colour("--map-free");
    renderer.clip({ x, y, width: Math.round(plot.width * ratio), height: Math.round(plot.height * ratio) });
    this.batch.clear();
    const { range } = wishes;
    const inSight = (patch: Patch): Patch => ({
      ...patch,
      from: Math.max(patch.from, range.from),
      to: Math.min(patch.to, range.to),
    });
    for (const patch of this.segments) addSegments(this.batch, inSight(patch), scales, free);
    renderer.rects(this.batch);
    const strip = wishes.axis === "time" ? TIME_STRIP : Number.POSITIVE_INFINITY;
    for (const patch of this.segments) this.rasters.paint(renderer, patch, scales, free, strip);
    const small = theme.colour("--map-small");
    for (const patch of this.blocks) this.rasters.paint(renderer, patch, scales, small, strip);
    this.batch.clear();
    const colour = groupColours(theme, this.info, wishes.by, wishes.selection, free);
    for (const patch of this.blocks) addBlocks(this.batch, inSight(patch), scales, colour, free);
    renderer.rects(this.batch);
    renderer.clip(null);
  }

  private paintMinimap(frame: Frame): void {
    const { minimap } = this.layout;
    const root = this.tiles.store.find({ kind: "counters" }, along(this.info.tiles.max_level, 0));
    if (root) paintMinimap(frame, minimap, root.tile as CountersTile, this.overview);
  }

  /** A frame around a part of the map, never so small that it is not seen. */
  private drawFrame(
    { pen, theme }: Frame,
    { from, to, place, size }: Framed,
    token: string,
    thick: number,
  ): void {
    const { plot } = this.layout;
    const left = Math.max(plot.x - 4, plot.x + this.axis.x(from));
    const right = Math.min(plot.x + plot.width + 4, plot.x + this.axis.x(to));
    const top = this.y(place);
    const bottom = this.y(place + size);
    if (right < plot.x || left > plot.x + plot.width || bottom < plot.y || top > plot.y + plot.height) return;
    const grow = Math.max(0, 3 - (bottom - top)) / 2;
    const box = [
      left - 1,
      top - grow - 1,
      Math.max(3, right - left) + 2,
      bottom - top + 2 * grow + 2,
    ] as const;
    pen.frame(...box, { colour: theme.css("--panel"), width: thick + 2 });
    pen.frame(...box, { colour: theme.css(token), width: thick });
  }

  /** Bars across the cursor where memory is free. */
  private drawHoles({ pen, theme }: Frame, { cursor, holes }: MapTouches): void {
    const x = this.layout.plot.x + this.axis.x(cursor + 0.5);
    const colour = theme.css("--bad");
    for (const { place, size } of holes) {
      const top = this.y(place);
      pen.box(x - 7, top, 14, Math.max(0.75, this.y(place + size) - top - 0.5), colour);
    }
  }

  private drawPointer({ pen, theme }: Frame, { pointer }: MapTouches): void {
    const { plot } = this.layout;
    if (!pointer) return;
    const stroke = { colour: theme.css("--text-quiet"), dash: [2, 2] };
    pen.line(pointer.x, plot.y, pointer.x, plot.y + plot.height, stroke);
    pen.line(plot.x, pointer.y, plot.x + plot.width, pointer.y, stroke);
  }
}

/** The tiles of a window, those in its middle first. */
function gridOf(
  range: Span,
  level: number,
  events: number,
  rows: Span,
  levelY: number,
  height: number,
): Place[] {
  const columns = tilesOf(range, level, events);
  const lines = tilesOf(rows, levelY, height);
  const middle = (list: readonly number[]) => ((list[0] ?? 0) + (list[list.length - 1] ?? 0)) / 2;
  const away = ({ i, row }: Place) => Math.abs(i - middle(columns)) + Math.abs(row - middle(lines));
  return lines
    .flatMap((row) => columns.map((i) => ({ level, i, levelY, row })))
    .sort((a, b) => away(a) - away(b));
}
