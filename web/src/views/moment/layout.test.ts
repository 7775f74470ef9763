import { expect, test } from "vitest";
import type { MomentSegment } from "../../state/types.ts";
import {
  fittingScale,
  layoutMoment,
  measures,
  placeAt,
  poolsOf,
  spanAt,
  sumUsage,
  usageOf,
} from "./layout.ts";

function segment(size: number, change: Partial<MomentSegment> = {}): MomentSegment {
  return {
    address: "0x1000",
    size_bytes: size,
    offset_bytes: 0,
    stream: "0x0",
    pool: "0.0",
    small: false,
    expandable: false,
    stack_id: 0,
    spans: { offset: [0], size: [size], block: [-1], state: [0], group: [-1] },
    ...change,
  };
}

const width = 100 + 2 * measures.margin;

test("segments of one kind stand together, large requests first", () => {
  const segments = [segment(1, { small: true }), segment(2), segment(3, { stream: "0x7" }), segment(4)];
  expect(poolsOf(segments)).toEqual([[1, 3], [2], [0]]);
});

test("short segments share a line, a long one goes on in the next", () => {
  const { lines } = layoutMoment([segment(30), segment(40), segment(250)], width, 1);
  expect(lines.map(({ pieces }) => pieces.map(({ segment: s, from, to }) => [s, from, to]))).toEqual([
    [
      [0, 0, 30],
      [1, 0, 40],
    ],
    [[2, 0, 100]],
    [[2, 100, 200]],
    [[2, 200, 250]],
  ]);
});

test("every byte of every segment is on the page once", () => {
  const sizes = [1, 99, 100, 101, 1000, 3, 3, 3, 96];
  const { lines } = layoutMoment(
    sizes.map((size) => segment(size)),
    width,
    1,
  );
  const shown = sizes.map(() => 0);
  for (const { segment: s, from, to } of lines.flatMap(({ pieces }) => pieces))
    shown[s] = (shown[s] ?? 0) + to - from;
  expect(shown.map(Math.round)).toEqual(sizes);
  for (const { x, width: w } of lines.flatMap(({ pieces }) => pieces))
    expect(x + w).toBeLessThanOrEqual(measures.margin + 100 + 1e-9);
});

test("the scale that fits is the finest", () => {
  const segments = [segment(2 ** 30), segment(2 ** 28)];
  const scale = fittingScale(segments, 800, 400);
  expect(layoutMoment(segments, 800, scale).height).toBeLessThanOrEqual(400);
  expect(layoutMoment(segments, 800, scale / 2 ** 0.25).height).toBeGreaterThan(400);
});

test("many segments on a small page are scrolled, not made too small to see", () => {
  const segments = Array.from({ length: 500 }, () => segment(20 * 2 ** 20));
  expect((20 * 2 ** 20) / fittingScale(segments, 400, 300)).toBeGreaterThanOrEqual(10);
});

test("a point leads to its place in the segment", () => {
  const layout = layoutMoment([segment(30), segment(40)], width, 1);
  const y = (layout.lines[0]?.y ?? 0) + measures.name + 1;
  expect(placeAt(layout, measures.margin + 10, y)).toEqual({ segment: 0, offset: 10 });
  expect(placeAt(layout, measures.margin + 30 + measures.gap + 5, y)).toEqual({ segment: 1, offset: 5 });
  expect(placeAt(layout, measures.margin + 31, y)).toBeNull();
  expect(placeAt(layout, measures.margin + 10, 0)).toBeNull();
});

const spans = {
  offset: [0, 10, 30, 60],
  size: [10, 20, 30, 40],
  block: [5, -1, 6, -1],
  state: [1, 0, 2, 0],
  group: [0, -1, 0, -1],
};

test("spans and what they add up to", () => {
  expect([0, 9, 10, 59, 99].map((offset) => spanAt(spans, offset))).toEqual([0, 0, 1, 2, 3]);
  const usage = usageOf(segment(100, { spans }));
  expect(usage).toEqual({ allocated: 10, pending: 30, free: 60, largestFree: 40, blocks: 2 });
  expect(sumUsage([usage, usage])).toEqual({
    allocated: 20,
    pending: 60,
    free: 120,
    largestFree: 40,
    blocks: 4,
  });
  expect(sumUsage([])).toEqual({ allocated: 0, pending: 0, free: 0, largestFree: 0, blocks: 0 });
});
