// Where segments stand on the page of a moment, as on the page of a disk defragmenter: all at one scale, one
// behind the other, a segment that is longer than a line goes on in the next.

import type { MomentSegment } from "../../state/types.ts";
import { formatBytes, formatPlural } from "../../units/units.ts";

/** Part of a segment in one line. */
export interface Piece {
  segment: number;
  /** Bytes of the segment that it shows: from…to. */
  from: number;
  to: number;
  x: number;
  width: number;
  /** The segment begins here, and its name stands above. */
  first: boolean;
}

export interface Line {
  y: number;
  pieces: Piece[];
}

/** Segments of one pool, stream and size class, which serve the same requests. */
export interface PoolHead {
  y: number;
  segments: number[];
}

export interface MomentLayout {
  heads: PoolHead[];
  lines: Line[];
  height: number;
  bytesPerPixel: number;
}

export const measures = {
  head: 26,
  name: 15,
  bar: 20,
  below: 7,
  /** Between segments in one line. */
  gap: 4,
  margin: 12,
  /** Above the first head. */
  top: 4,
} as const;

const lineHeight = measures.name + measures.bar + measures.below;

/** Names the segments that belong together, in the order in which they are shown. */
export function poolsOf(segments: readonly MomentSegment[]): number[][] {
  const pools = new Map<string, number[]>();
  for (const [index, { pool, stream, small }] of segments.entries()) {
    const key = `${small ? 1 : 0} ${pool} ${stream}`;
    pools.set(key, [...(pools.get(key) ?? []), index]);
  }
  return [...pools.keys()].sort().map((key) => pools.get(key) ?? []);
}

export function layoutMoment(
  segments: readonly MomentSegment[],
  width: number,
  bytesPerPixel: number,
): MomentLayout {
  const flow = new Flow(Math.max(1, width - 2 * measures.margin), bytesPerPixel);
  const heads = poolsOf(segments).map((pool) => {
    const y = flow.head();
    for (const index of pool) flow.add(index, segments[index]?.size_bytes ?? 0);
    return { y, segments: pool };
  });
  return { heads, lines: flow.lines, height: flow.end(), bytesPerPixel };
}

/** Puts pieces one behind the other into lines of a width. */
class Flow {
  readonly lines: Line[] = [];
  private y: number = measures.top;
  private x = 0;
  private line: Line | null = null;

  constructor(
    private readonly width: number,
    private readonly bytesPerPixel: number,
  ) {}

  head(): number {
    this.breakLine();
    const y = this.y;
    this.y += measures.head;
    return y;
  }

  add(segment: number, size: number): void {
    const width = size / this.bytesPerPixel;
    if (this.line && this.x + width > this.width) this.breakLine();
    for (let from = 0; from < size; ) {
      const line = this.line ?? this.newLine();
      const to = Math.min(size, from + (this.width - this.x) * this.bytesPerPixel);
      const drawn = (to - from) / this.bytesPerPixel;
      line.pieces.push({ segment, from, to, x: measures.margin + this.x, width: drawn, first: from === 0 });
      this.x += drawn + measures.gap;
      if (to < size || this.x >= this.width) this.breakLine();
      from = to;
    }
  }

  end(): number {
    this.breakLine();
    return this.y + measures.margin;
  }

  private newLine(): Line {
    this.line = { y: this.y, pieces: [] };
    this.lines.push(this.line);
    this.x = 0;
    return this.line;
  }

  private breakLine(): void {
    if (!this.line) return;
    this.line = null;
    this.x = 0;
    this.y += lineHeight;
  }
}

/** Lines of a page beyond which it is not zoomed: some 800,000 pixels of scrolling. */
const mostLines = 20_000;

/** Scales are powers of the fourth root of two: what fits is filled by four fifths at least. */
const scaleStep = 2 ** 0.25;

/** The finest scale at which all segments fill no more than so many lines. */
function scaleFor(segments: readonly MomentSegment[], width: number, lines: number): number {
  const whole = segments.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  const least = whole / Math.max(1, width - 2 * measures.margin) / Math.max(1, lines);
  return Math.max(16, 2 ** (Math.ceil(4 * Math.log2(Math.max(1, least))) / 4));
}

/** Pixels that a usual segment has at least: with fewer its blocks could not be told apart. */
const leastPixels = 10;

/** The coarsest scale that still shows a usual segment of the large requests. */
function coarsestScale(segments: readonly MomentSegment[]): number {
  const large = segments.filter(({ small }) => !small);
  const sizes = (large.length > 0 ? large : segments)
    .map(({ size_bytes }) => size_bytes)
    .sort((a, b) => a - b);
  return (sizes[sizes.length >> 1] ?? 1) / leastPixels;
}

/** The finest scale at which all segments are on the page without scrolling, if one shows them well enough. */
export function fittingScale(segments: readonly MomentSegment[], width: number, height: number): number {
  const coarsest = coarsestScale(segments);
  let bytesPerPixel = Math.min(coarsest, scaleFor(segments, width, height / lineHeight));
  while (layoutMoment(segments, width, bytesPerPixel).height > height && bytesPerPixel * scaleStep < coarsest)
    bytesPerPixel *= scaleStep;
  return bytesPerPixel;
}

/** The finest scale that the page is zoomed to. */
export function finestScale(segments: readonly MomentSegment[], width: number): number {
  return scaleFor(segments, width, mostLines);
}

/** The line at a height; the list is ascending. */
function lineAt(layout: MomentLayout, y: number): Line | null {
  return layout.lines.find((line) => y >= line.y && y < line.y + lineHeight) ?? null;
}

/** The segment and the place within it at a point. */
export function placeAt(
  layout: MomentLayout,
  x: number,
  y: number,
): { segment: number; offset: number } | null {
  const piece = lineAt(layout, y)?.pieces.find((each) => x >= each.x && x < each.x + Math.max(1, each.width));
  return piece ? { segment: piece.segment, offset: piece.from + (x - piece.x) * layout.bytesPerPixel } : null;
}

type Spans = MomentSegment["spans"];

/** The span that holds a place within the segment; spans ascend without gaps. */
export function spanAt(spans: Spans, offset: number): number {
  let low = 0;
  let high = spans.offset.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans.offset[middle] ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** What a segment holds, by state, and its largest free piece. */
export interface Usage {
  allocated: number;
  pending: number;
  free: number;
  largestFree: number;
  blocks: number;
}

export const states = { free: 0, allocated: 1, pending: 2 } as const;

const usages = new WeakMap<MomentSegment, Usage>();

/** The usage of a segment, which is added up once. */
export function usageOf(segment: MomentSegment): Usage {
  const known = usages.get(segment) ?? addUp(segment.spans);
  usages.set(segment, known);
  return known;
}

function addUp(spans: Spans): Usage {
  const usage: Usage = { allocated: 0, pending: 0, free: 0, largestFree: 0, blocks: 0 };
  for (const [i, size] of spans.size.entries()) {
    const state = spans.state[i];
    if (state === states.free) {
      usage.free += size;
      usage.largestFree = Math.max(usage.largestFree, size);
      continue;
    }
    usage.blocks++;
    if (state === states.pending) usage.pending += size;
    else usage.allocated += size;
  }
  return usage;
}

/** "1,586 blocks in 379 segments, 1.00 GiB free". */
export function countWords(segments: readonly MomentSegment[]): string {
  const { blocks, free } = sumUsage(segments.map(usageOf));
  const parts = [
    formatPlural(blocks, "block", "blocks"),
    formatPlural(segments.length, "segment", "segments"),
  ];
  return `${parts.join(" in ")}, ${formatBytes(free)} free`;
}

/** The usage of several segments together. */
export function sumUsage(usages: readonly Usage[]): Usage {
  return usages.reduce(
    (sum, each) => ({
      allocated: sum.allocated + each.allocated,
      pending: sum.pending + each.pending,
      free: sum.free + each.free,
      largestFree: Math.max(sum.largestFree, each.largestFree),
      blocks: sum.blocks + each.blocks,
    }),
    { allocated: 0, pending: 0, free: 0, largestFree: 0, blocks: 0 },
  );
}
