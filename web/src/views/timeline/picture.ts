// Paints the timeline, and remembers what it painted where, for the pointer.

import { levelFor, type Scale, type Span, scaleOf, unscale, width } from "../../draw/camera.ts";
import { EventAxis } from "../../draw/eventaxis.ts";
import { withAlpha } from "../../draw/palette.ts";
import { Batch } from "../../draw/renderer.ts";
import { addRules, drawByteLabels, drawEventLabels } from "../../draw/rulers.ts";
import type { Frame } from "../../draw/stage.tsx";
import type { Device, GroupBy, Limit } from "../../source/api.ts";
import type { Axis, Range, Selection, SeriesName } from "../../state/viewer.ts";
import { along, type Place, tilesOf, tileWidth } from "../../tiles/address.ts";
import { type Columns, columnsOf, type Piece, piecesOf } from "../../tiles/columns.ts";
import { evenCover, fineCover } from "../../tiles/cover.ts";
import type { BandsTile, CountersTile, PackedTile } from "../../tiles/decode.ts";
import type { DeviceTiles } from "../../tiles/shared.ts";
import { formatBytes } from "../../units/units.ts";
import { groupColours } from "../shared/colours.ts";
import { greatest, paintLine } from "../shared/lines.ts";
import { drawMarks, drawSteps } from "../shared/marks.ts";
import { drawWindow, paintMinimap } from "../shared/minimap.ts";
import { drawCursor, drawFlags, drawMarked } from "../shared/overlay.ts";
import type { Rows } from "../shared/rows.ts";
import { highest, paintBands, stackOrder } from "./bands.ts";
import { layoutOf } from "./layout.ts";
import { addPacked, traceBlock } from "./packed.ts";

/** What the reader chose to see. */
export interface Wishes {
  readonly range: Range;
  readonly axis: Axis;
  readonly by: GroupBy;
  /** Amounts from the lower edge to the upper one; null fits the whole recording, "window" what is in sight. */
  readonly bytes: Span | "window" | null;
  readonly lines: readonly SeriesName[];
  /** Single blocks where there is room for them. */
  readonly blocks: boolean;
  readonly selection: Selection | null;
}

/** What lies above the picture, and changes with the pointer. */
export interface Touches {
  readonly cursor: number;
  readonly marked: Range | null;
  readonly marks: readonly number[];
  /** Pixel of the pointer within the plot, or null. */
  readonly pointer: { readonly x: number; readonly y: number } | null;
  /** Events that the selected block lives. */
  readonly life: Range | null;
}

/** Packed tiles are asked for in windows of no more events. */
const MOST_PACKED_EVENTS = 8192;

/** Rectangles of single blocks in one frame: twice as many take a 2D canvas some 40 ms. */
const MOST_RECTS = 20_000;

const LINE_TOKENS: Readonly<Record<SeriesName, string>> = {
  reserved: "--text",
  active: "--accent",
  allocated: "--text",
  requested: "--text-quiet",
};

export class TimelinePicture {
  layout: Rows;
  axis: EventAxis;
  /** The axis of the minimap. */
  overview: EventAxis;
  bytes: Scale = scaleOf({ from: 0, to: 1 }, 1);
  counters: Columns<CountersTile> | null = null;
  bands: Columns<BandsTile> | null = null;
  best: Uint32Array = new Uint32Array();
  order: readonly number[] = [];
  /** Not empty where single blocks are shown. */
  packed: readonly Piece<PackedTile>[] = [];
  /** Single blocks were asked for, but are too many here. */
  tooMany = false;
  ratio = 1;
  private readonly batch = new Batch();

  constructor(
    readonly info: Device,
    private readonly tiles: DeviceTiles,
  ) {
    const whole = { from: 0, to: Math.max(1, info.events) };
    this.layout = layoutOf(1, 1, info);
    this.axis = new EventAxis(whole, 1, null);
    this.overview = this.axis;
  }

  /** Paints the picture, from the tiles that are here, and asks for those that are not. */
  paint(frame: Frame, wishes: Wishes): void {
    this.ratio = frame.ratio;
    this.layout = layoutOf(frame.width, frame.height, this.info);
    const { plot, minimap } = this.layout;
    const clock = wishes.axis === "time" ? this.tiles.clock : null;
    this.overview = new EventAxis({ from: 0, to: Math.max(1, this.info.events) }, minimap.width, clock);
    this.gather(wishes);
    this.bytes = scaleOf(this.bytesOf(wishes.bytes), plot.height);
    this.paintRules(frame);
    this.paintStack(frame, wishes);
    this.paintLines(frame, wishes);
    const root = this.tiles.store.find({ kind: "counters" }, along(this.info.tiles.max_level, 0));
    if (root) paintMinimap(frame, minimap, root.tile as CountersTile, this.overview);
  }

  /** Draws rules, labels and signs, and what follows the pointer. */
  touch(frame: Frame, wishes: Wishes, touches: Touches): void {
    const { pen, theme } = frame;
    const { plot, marks, steps, ticks, minimap } = this.layout;
    pen.within(plot.x, steps.y, plot.width, frame.height, () => {
      drawSteps(pen, theme, this.axis, this.info, steps, plot);
    });
    drawByteLabels(pen, theme, this.bytes, plot);
    drawEventLabels(pen, theme, this.axis, ticks);
    drawWindow(frame, minimap, this.overview, wishes.range);
    pen.within(plot.x, marks.y, plot.width, frame.height, () => {
      this.drawLimits(frame);
      this.drawLife(frame, touches.life);
      drawMarked(pen, theme, this.axis, plot, touches.marked);
      drawMarks(pen, theme, this.axis, this.info.marks, marks, plot);
      this.outlineSelected(frame, wishes.selection);
      drawFlags(pen, theme, this.axis, plot, marks, touches.marks);
      this.drawPointer(frame, touches);
      drawCursor(pen, theme, this.axis, plot, touches.cursor);
    });
  }

  /** Pixel of the page for an amount of bytes. */
  y(bytes: number): number {
    return this.layout.plot.y + this.layout.plot.height - this.bytes(bytes);
  }

  bytesAt(y: number): number {
    const { plot } = this.layout;
    return unscale(this.bytes, plot.y + plot.height - y);
  }

  private bytesOf(wish: Wishes["bytes"]): Span {
    if (wish !== "window") return wish ?? wholeBytes(this.info);
    return { from: 0, to: Math.max(1, this.counters ? greatest(this.counters, "reserved") : 0) * 1.05 };
  }

  private gather(wishes: Wishes): void {
    const { plot } = this.layout;
    const { range } = wishes;
    const { store } = this.tiles;
    const { events, tiles } = this.info;
    const places = this.placesOf(wishes);
    const toX = (event: number) => (plot.x + this.axis.x(event)) * this.ratio;
    this.counters = columnsOf(this.countersOf(places), range, toX);
    const picture = { kind: "bands", by: wishes.by } as const;
    this.bands = columnsOf(piecesOf<BandsTile>(store, "bands", picture, places, events), range, toX);
    this.best = highest(this.bands);
    const root = store.find(picture, along(tiles.max_level, 0));
    this.order = root ? stackOrder(root.tile as BandsTile) : [];
    this.gatherPacked(wishes);
  }

  /** Lays the horizontal axis, and chooses tiles for it. */
  private placesOf({ range, axis }: Wishes): readonly Place[] {
    const { plot } = this.layout;
    const { events, tiles } = this.info;
    const clock = axis === "time" ? this.tiles.clock : null;
    this.axis = new EventAxis(range, plot.width, clock);
    if (!clock) return evenCover(range, levelFor(width(range) / plot.width, tiles.max_level), events);
    // The tiles that are here tell the clock better, and the clock tells which are wanted.
    this.tiles.refineClock(
      this.countersOf(fineCover(this.axis, tiles.max_level, events)).map(({ tile }) => tile),
    );
    this.axis = new EventAxis(range, plot.width, clock);
    return fineCover(this.axis, tiles.max_level, events);
  }

  private countersOf(places: readonly Place[]): Piece<CountersTile>[] {
    return piecesOf<CountersTile>(
      this.tiles.store,
      "counters",
      { kind: "counters" },
      places,
      this.info.events,
    );
  }

  /** Takes packed tiles if all that the window needs are here, and none of them has too many blocks. */
  private gatherPacked({ range, by, blocks }: Wishes): void {
    const { store } = this.tiles;
    this.packed = [];
    this.tooMany = false;
    if (!blocks || width(range) > MOST_PACKED_EVENTS) {
      store.leave("packed");
      this.tooMany = blocks;
      return;
    }
    const picture = { kind: "packed", by } as const;
    const level = Math.min(this.info.tiles.max_level, levelFor(width(range) / 1024, 4));
    const places = tilesOf(range, level, this.info.events).map((i) => along(level, i));
    store.want("packed", picture, places, []);
    const pieces = places.flatMap((place) => {
      const found = store.find(picture, place);
      if (!found?.exact) return [];
      const from = place.i * tileWidth(level);
      return [
        {
          tile: found.tile as PackedTile,
          from: Math.max(from, range.from),
          to: Math.min(from + tileWidth(level), range.to),
        },
      ];
    });
    this.tooMany = pieces.some(({ tile }) => tile.tooMany);
    if (!this.tooMany && pieces.length === places.length) this.packed = pieces;
  }

  /** Faint rules at the ticks of both axes, below all else. */
  private paintRules({ renderer, theme, ratio }: Frame): void {
    this.batch.clear();
    addRules(this.batch, theme.colour("--line"), this.axis, this.bytes, this.layout.plot, ratio);
    renderer.rects(this.batch);
  }

  /** Paints single blocks where they are here and not too many, else bands. */
  private paintStack(frame: Frame, wishes: Wishes): void {
    const { renderer, theme, ratio } = frame;
    if (!this.bands) return;
    const toY = (bytes: number) => this.y(bytes) * ratio;
    this.batch.clear();
    const background = theme.colour("--panel");
    const colour = groupColours(theme, this.info, wishes.by, wishes.selection, background);
    const toX = (event: number) => (this.layout.plot.x + this.axis.x(event)) * ratio;
    for (const piece of this.packed) addPacked(this.batch, piece, { toX, toY, colour, background, ratio });
    if (this.batch.count > MOST_RECTS) [this.packed, this.tooMany] = [[], true];
    if (this.packed.length > 0) renderer.rects(this.batch);
    else paintBands(renderer, this.bands, this.order, colour, toY);
  }

  private paintLines({ renderer, theme, ratio }: Frame, { lines }: Wishes): void {
    const columns = this.counters;
    if (!columns) return;
    const toY = (bytes: number) => this.y(bytes) * ratio;
    for (const name of lines) {
      const colour = theme.colour(LINE_TOKENS[name]);
      const thick = Math.max(1, Math.round((name === "reserved" ? 1.5 : 1) * ratio));
      paintLine(
        renderer,
        this.batch,
        columns,
        name,
        name === "allocated" ? withAlpha(colour, 0.55) : colour,
        thick,
        toY,
      );
    }
  }

  /** Capacity and limit, or a word at the upper edge where they lie beyond it. */
  private drawLimits({ pen, theme }: Frame): void {
    const { plot } = this.layout;
    let free = plot.y + 7;
    for (const { bytes, words, token } of limitsOf(this.info)) {
      const colour = theme.css(token);
      const y = this.y(bytes);
      const seen = y >= plot.y;
      if (y > plot.y + plot.height) continue;
      const line = Math.round(y) + 0.5;
      if (seen) pen.line(plot.x, line, plot.x + plot.width, line, { colour, dash: [6, 4] });
      const above = seen && y - 8 >= free ? y - 8 : y + 9;
      const at = seen ? Math.max(free, above) : free;
      pen.text(seen ? words : `↑ ${words}`, plot.x + 6, at, { colour, halo: theme.css("--panel") });
      free = at + 15;
    }
  }

  /** A bar over the plot from the selected block's allocation to its end. */
  private drawLife({ pen, theme }: Frame, life: Range | null): void {
    if (!life) return;
    const { plot } = this.layout;
    const left = plot.x + this.axis.x(life.from);
    const right = Math.max(left + 2, plot.x + this.axis.x(life.to));
    pen.box(left, plot.y, right - left, 3, theme.css("--accent"));
    pen.box(left, plot.y, right - left, plot.height, theme.css("--accent", 0.07));
  }

  private outlineSelected({ pen, theme }: Frame, selection: Selection | null): void {
    if (selection?.kind !== "block") return;
    const { plot } = this.layout;
    for (const piece of this.packed) {
      traceBlock(piece, selection.block, (from, to, low, high) => {
        const x = plot.x + this.axis.x(from);
        const top = this.y(high);
        const box = [x, top, plot.x + this.axis.x(to) - x, this.y(low) - top] as const;
        pen.frame(...box, { colour: theme.css("--text"), width: 2 });
      });
    }
  }

  private drawPointer({ pen, theme }: Frame, { pointer }: Touches): void {
    const { plot } = this.layout;
    const stroke = { colour: theme.css("--text-quiet"), dash: [2, 2] };
    if (pointer) pen.line(pointer.x, plot.y, pointer.x, plot.y + plot.height, stroke);
  }
}

/** Lines that are not to be passed: a device's memory, and what the allocator was allowed. */
function limitsOf({
  capacity_bytes: capacity,
  limit,
}: Device): { bytes: number; words: string; token: string }[] {
  const limits = [];
  if (capacity) {
    limits.push({
      bytes: capacity,
      words: `memory of the device: ${formatBytes(capacity)}`,
      token: "--text-quiet",
    });
  }
  if (limit && limit.low_bytes > 0) {
    const what = limit.kind === "fraction" ? "limit by a memory fraction" : "limit";
    limits.push({ bytes: limit.low_bytes, words: `${what}: ${amountBetween(limit)}`, token: "--bad" });
  }
  return limits.sort((a, b) => b.bytes - a.bytes);
}

/** "16.00 GiB", "15.99 GiB to 16.02 GiB", "at least 15.99 GiB": a limit is known as far as an error told. */
function amountBetween({ low_bytes: low, high_bytes: high }: Limit): string {
  if (high === 0) return `at least ${formatBytes(low)}`;
  return high > low ? `${formatBytes(low)} to ${formatBytes(high)}` : formatBytes(low);
}

/** From nothing to a little above the peak, or above a limit that is not far from it. */
export function wholeBytes(info: Device): Span {
  const peak = Math.max(1, info.peak.reserved_bytes, info.peak.allocated_bytes);
  const near = limitsOf(info)
    .map(({ bytes }) => bytes)
    .filter((bytes) => bytes < 1.5 * peak);
  return { from: 0, to: Math.max(peak, ...near) * 1.05 };
}
