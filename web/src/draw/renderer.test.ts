import { expect, test } from "vitest";
import { Batch, STRIDE } from "./renderer.ts";

test("edges are whole pixels, at least one apart", () => {
  const batch = new Batch();
  batch.add(0.4, 1.6, 0.6, 1.7, 0xff0000ff);
  expect([...batch.edges.subarray(0, 4)]).toEqual([0, 2, 1, 3]);
  expect(batch.colours[4]).toBe(0xff0000ff);
});

test("rectangles that touch still do when rounded", () => {
  const batch = new Batch();
  batch.add(0, 0, 10.5, 1, 1);
  batch.add(10.5, 0, 20.2, 1, 2);
  expect(batch.edges[2]).toBe(batch.edges[STRIDE]);
});

test("it grows, and keeps what it had", () => {
  const batch = new Batch(2);
  for (let i = 0; i < 100; i++) batch.add(i, 0, i + 1, 5, i);
  expect(batch.count).toBe(100);
  expect(batch.edges[50 * STRIDE]).toBe(50);
  expect(batch.colours[99 * STRIDE + 4]).toBe(99);
});
