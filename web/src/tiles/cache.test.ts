import { expect, test } from "vitest";
import { LRU } from "./cache.ts";

test("what was used longest ago goes first", () => {
  const cache = new LRU<number>(30);
  for (const [i, key] of ["a", "b", "c"].entries()) cache.set(key, i, 10);
  cache.get("a");
  cache.set("d", 3, 10);
  expect(["a", "b", "c", "d"].filter((key) => cache.has(key))).toEqual(["a", "c", "d"]);
  expect(cache.sizeBytes).toBe(30);
});

test("a value set anew counts once", () => {
  const cache = new LRU<number>(30);
  cache.set("a", 1, 10);
  cache.set("a", 2, 20);
  expect(cache.get("a")).toBe(2);
  expect(cache.sizeBytes).toBe(20);
});

test("one that is larger than all room stays alone, until the next", () => {
  const cache = new LRU<number>(30);
  cache.set("a", 1, 10);
  cache.set("huge", 2, 99);
  expect(cache.has("a")).toBe(false);
  expect(cache.get("huge")).toBe(2);
  cache.set("b", 3, 10);
  expect(cache.has("huge")).toBe(false);
});
