// Paints the page of a moment: names of pools and segments, blocks at scale, free memory hatched.

import type { Painter } from "../../paint/painter.ts";
import type { MomentSegment } from "../../state/types.ts";
import { formatBytes, formatPlural, formatShare } from "../../units/units.ts";
import {
  type Line,
  type MomentLayout,
  measures,
  type Piece,
  type PoolHead,
  spanAt,
  states,
  sumUsage,
  usageOf,
} from "./layout.ts";

export interface MomentColours {
  token(name: string): string;
  /** The colour of a block by the number of its group. */
  group(id: number): string;
}

export interface MomentMarks {
  block: number | null;
  segment: string | null;
  /** Blocks that a search found; null where nothing is searched for. */
  found: ReadonlySet<number> | null;
}

/** What a segment must be wide to carry its name, and a block its size. */
const least = { name: 60, size: 54 } as const;

/** Blocks from this width on are set off from their neighbour by a pixel. */
const separated = 3;

/** Segments of which more is free while blocks keep them are named in the colour of a warning. */
const emptyShare = 0.5;

function freeWords(free: number, whole: number): string {
  if (free === 0) return "full";
  return free === whole ? "free" : `${formatShare(free, whole)} free`;
}

export class MomentPaint {
  constructor(
    private readonly painter: Painter,
    private readonly segments: readonly MomentSegment[],
    private readonly colours: MomentColours,
    private readonly marks: MomentMarks,
  ) {}

  /** Paints what lies between two heights of the layout. */
  page(layout: MomentLayout, from: number, to: number, width: number): void {
    for (const head of layout.heads)
      if (head.y + measures.head >= from && head.y <= to) this.head(head, width);
    for (const line of layout.lines)
      if (line.y + measures.name + measures.bar >= from && line.y <= to) this.line(line);
  }

  private head({ y, segments }: PoolHead, width: number): void {
    const first = this.segments[segments[0] ?? -1];
    if (!first) return;
    const usage = sumUsage(segments.map((index) => usageOf(this.segments[index]!)));
    const whole = usage.allocated + usage.pending + usage.free;
    const size = first.small ? "small requests" : "large requests";
    const words = [
      `${size} · pool ${first.pool} · stream ${first.stream}`,
      `${formatPlural(segments.length, "segment", "segments")}, ${formatBytes(whole)}`,
      usage.free === 0
        ? "full"
        : `${formatBytes(usage.free)} free (${formatShare(usage.free, whole)}), largest piece ${formatBytes(usage.largestFree)}`,
    ];
    const { token } = this.colours;
    this.painter.text(
      words.join("   "),
      measures.margin,
      y + 16,
      token("--text"),
      width - 2 * measures.margin,
      true,
    );
  }

  private line({ y, pieces }: Line): void {
    for (const piece of pieces) {
      const segment = this.segments[piece.segment];
      if (!segment) continue;
      if (piece.first && piece.width >= least.name) this.name(segment, piece, y);
      this.bar(segment, piece, y + measures.name);
    }
  }

  /** The longest of a segment's names that has room above it. */
  private name(segment: MomentSegment, piece: Piece, y: number): void {
    const usage = usageOf(segment);
    const size = formatBytes(segment.size_bytes);
    const names = [`${size}, ${freeWords(usage.free, segment.size_bytes)}`, size];
    const words = names.find((each) => this.painter.fits(each, piece.width));
    const pinned = usage.blocks > 0 && usage.free > emptyShare * segment.size_bytes;
    const colour = this.colours.token(pinned ? "--warn" : "--text-quiet");
    if (words) this.painter.text(words, piece.x, y + 8, colour, piece.width);
  }

  private bar(segment: MomentSegment, piece: Piece, y: number): void {
    const { token } = this.colours;
    this.painter.rect(piece.x, y, Math.max(1, piece.width), measures.bar, token("--free"));
    this.painter.hatch(piece.x, y, Math.max(1, piece.width), measures.bar, token("--hatch"));
    this.painter.outline(piece.x, y, Math.max(1, piece.width), measures.bar, token("--line-strong"), 1);
    const { spans } = segment;
    let painted = -1;
    for (let i = Math.max(0, spanAt(spans, piece.from)); i < spans.offset.length; i++) {
      const from = Math.max(piece.from, spans.offset[i] ?? 0);
      if (from >= piece.to) break;
      const to = Math.min(piece.to, (spans.offset[i] ?? 0) + (spans.size[i] ?? 0));
      painted = this.span(segment, i, this.xOf(piece, from), this.xOf(piece, to), y, painted);
    }
    if (this.marks.segment === segment.address)
      this.painter.outline(piece.x, y, piece.width, measures.bar, token("--accent"), 2);
  }

  private xOf(piece: Piece, offset: number): number {
    return piece.x + ((offset - piece.from) / (piece.to - piece.from)) * piece.width;
  }

  /** Paints one span from x0 to x1, unless its pixel is painted already; returns the last pixel painted. */
  private span(
    segment: MomentSegment,
    i: number,
    x0: number,
    x1: number,
    y: number,
    painted: number,
  ): number {
    const { state, block } = segment.spans;
    const free = state[i] === states.free;
    const pixel = Math.floor(x1 - 0.01);
    if (free) {
      const whole = segment.spans.size[i] === segment.size_bytes; // its name says so already
      if (x1 - x0 >= least.size && !whole)
        this.size(segment.spans.size[i] ?? 0, x0, x1 - x0, y, this.colours.token("--text-quiet"));
      return painted;
    }
    const selected = block[i] === this.marks.block;
    if (pixel <= painted && !selected) return painted;
    this.block(segment, i, x0, Math.max(1, x1 - x0), y);
    if (selected)
      this.painter.outline(
        x0 - 1,
        y - 2,
        Math.max(4, x1 - x0 + 2),
        measures.bar + 4,
        this.colours.token("--text"),
        2,
      );
    return pixel;
  }

  /** A size in the middle of a bar, where it has room. */
  private size(bytes: number, x: number, width: number, y: number, colour: string): void {
    const words = formatBytes(bytes);
    if (this.painter.fits(words, width - 8))
      this.painter.text(words, x + 5, y + measures.bar / 2, colour, width - 8);
  }

  private block(segment: MomentSegment, i: number, x: number, width: number, y: number): void {
    const { size, state, block, group } = segment.spans;
    const { token } = this.colours;
    const { found } = this.marks;
    const faded = found !== null && !found.has(block[i] ?? -1);
    const drawn = width >= separated ? width - 1 : width;
    this.painter.rect(
      x,
      y,
      drawn,
      measures.bar,
      faded ? token("--faded-block") : this.colours.group(group[i] ?? -1),
    );
    if (state[i] === states.pending) this.painter.hatch(x, y, drawn, measures.bar, token("--panel"));
    if (width >= least.size)
      this.size(size[i] ?? 0, x, drawn, y, token(faded ? "--text-quiet" : "--on-block"));
  }
}
