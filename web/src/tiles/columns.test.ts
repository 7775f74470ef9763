import { describe, expect, test } from "vitest";
import { columnAt, columnsOf, type Piece } from "./columns.ts";
import type { CountersTile } from "./decode.ts";

/** A tile with nothing but the edges of its buckets. */
function piece(edge: number[], from = edge[0]!, to = edge[edge.length - 1]!): Piece<CountersTile> {
  return { tile: { nx: edge.length - 1, edge: Uint32Array.from(edge) } as CountersTile, from, to };
}

const buckets = (columns: ReturnType<typeof columnsOf>) =>
  Array.from({ length: columns.count }, (_, c) => [
    ...columns.bucket.slice(columns.first[c], columns.first[c + 1]),
  ]);

describe("columns", () => {
  test("are buckets, where these are wider than pixels", () => {
    const columns = columnsOf([piece([0, 8, 16, 24])], { from: 0, to: 24 }, (event) => event * 2);
    expect([...columns.x]).toEqual([0, 16, 32, 48]);
    expect(buckets(columns)).toEqual([[0], [1], [2]]);
  });

  test("hold all buckets of a pixel, where these are narrower", () => {
    const columns = columnsOf([piece([0, 1, 2, 3, 4, 5, 6, 7, 8])], { from: 0, to: 8 }, (event) => event / 4);
    expect(columns.count).toBe(2);
    expect(buckets(columns).flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test("keep what is wide apart from what is narrow", () => {
    const xs = [0, 30, 30.1, 30.2, 60, 60.1];
    const columns = columnsOf([piece([0, 1, 2, 3, 4, 5])], { from: 0, to: 5 }, (event) => xs[event]!);
    expect(buckets(columns)).toEqual([[0], [1, 2], [3], [4]]);
    expect([...columns.x]).toEqual([0, 30, 31, 60, 61]);
  });

  test("begin and end where the window does", () => {
    const columns = columnsOf([piece([0, 8, 16, 24])], { from: 4, to: 20 }, (event) => (event - 4) * 10);
    expect([...columns.x]).toEqual([0, 40, 120, 160]);
  });

  test("take from a tile only the part for which it stands in", () => {
    const coarse = piece([0, 16, 32, 48, 64], 32, 64);
    const fine = piece([0, 8, 16, 24, 32]);
    const columns = columnsOf([fine, coarse], { from: 0, to: 64 }, (event) => event);
    expect([...columns.x]).toEqual([0, 8, 16, 24, 32, 48, 64]);
    expect(buckets(columns)).toEqual([[0], [1], [2], [3], [2], [3]]);
  });

  test("of an empty window are none", () => {
    const columns = columnsOf([piece([0, 8])], { from: 20, to: 30 }, (event) => event);
    expect(columns.count).toBe(0);
    expect(columnAt(columns, 5)).toBe(-1);
  });
});

test.each([
  [-1, -1],
  [0, 0],
  [9.9, 0],
  [10, 1],
  [29, 2],
  [30, -1],
])("at pixel %d is column %d", (x, want) => {
  expect(columnAt({ count: 3, x: Float32Array.from([0, 10, 20, 30]) }, x)).toBe(want);
});
