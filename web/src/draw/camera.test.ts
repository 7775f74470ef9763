import { describe, expect, test } from "vitest";
import { clamp, framed, levelFor, pan, scaleOf, unscale, width, zoom } from "./camera.ts";

const bounds = { from: 0, to: 1000, least: 10 };

describe("clamp", () => {
  test.each([
    ["what lies within stays", { from: 10, to: 30 }, { from: 10, to: 30 }],
    ["what lies before moves in, as wide as it was", { from: -20, to: 30 }, { from: 0, to: 50 }],
    ["what lies behind too", { from: 980, to: 1020 }, { from: 960, to: 1000 }],
    ["what is too wide is the whole", { from: -500, to: 5000 }, { from: 0, to: 1000 }],
    ["what is too narrow widens about its middle", { from: 499, to: 501 }, { from: 495, to: 505 }],
    ["no number is the whole", { from: Number.NaN, to: 5 }, { from: 0, to: 1000 }],
    ["infinity is the whole", { from: 0, to: Number.POSITIVE_INFINITY }, { from: 0, to: 1000 }],
  ])("%s", (_, span, want) => expect(clamp(span, bounds)).toEqual(want));

  test("a whole that is narrower than the least is shown whole", () => {
    expect(clamp({ from: 0, to: 1 }, { from: 0, to: 3, least: 10 })).toEqual({ from: 0, to: 3 });
  });
});

describe("zoom", () => {
  test("the point stays where it is", () => {
    const span = { from: 200, to: 600 };
    const next = zoom(span, 2, 300, bounds);
    expect(width(next)).toBe(200);
    expect((300 - next.from) / width(next)).toBeCloseTo((300 - span.from) / width(span));
  });

  test("in and out again is the same place, also at 50 million events", () => {
    const all = { from: 0, to: 50e6, least: 6 };
    let span = { from: 12_345_678, to: 12_445_678 };
    const before = span;
    for (let i = 0; i < 30; i++) span = zoom(span, 1.35, 12_400_000.5, all);
    for (let i = 0; i < 30; i++) span = zoom(span, 1 / 1.35, 12_400_000.5, all);
    expect(width(span)).toBeCloseTo(width(before), 0);
  });

  test("ends at the least width, about the same point", () => {
    const next = zoom({ from: 0, to: 20 }, 100, 5, bounds);
    expect(width(next)).toBe(10);
    expect(next.from).toBeCloseTo(2.5);
  });
});

test("pan moves by a share of the window and stops at the ends", () => {
  expect(pan({ from: 100, to: 200 }, 0.5, bounds)).toEqual({ from: 150, to: 250 });
  expect(pan({ from: 100, to: 200 }, -5, bounds)).toEqual({ from: 0, to: 100 });
});

test("framed leaves a margin, and widens what is too narrow", () => {
  expect(framed({ from: 100, to: 200 }, bounds)).toEqual({ from: 90, to: 210 });
  expect(width(framed({ from: 500, to: 501 }, bounds))).toBe(10);
});

test("scaleOf and unscale undo each other", () => {
  const scale = scaleOf({ from: 40e6, to: 40e6 + 100 }, 1000);
  expect(scale(40e6 + 50)).toBe(500);
  expect(unscale(scale, 500)).toBe(40e6 + 50);
});

test.each([
  [0.1, 0],
  [1, 0],
  [1.01, 1],
  [2, 1],
  [1000, 10],
  [1e9, 12],
])("where a pixel stands for %d, buckets are of level %d", (perPixel, want) => {
  expect(levelFor(perPixel, 12)).toBe(want);
});

test("buckets of half a pixel are of one level less", () => {
  expect(levelFor(1024, 12, 0.5)).toBe(9);
});
