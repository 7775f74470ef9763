import { describe, expect, test } from "vitest";
import { along, parent, pathOf, rootLevel, tilesOf, tileWidth } from "./address.ts";

test.each([
  [{ kind: "counters" }, along(3, 5), "counters/3/5"],
  [{ kind: "bands", by: "site" }, along(0, 0), "bands-site/0/0"],
  [{ kind: "packed", by: "category" }, along(2, 9), "packed-category/2/9"],
  [{ kind: "map", by: "category" }, { level: 2, i: 17, levelY: 3, row: 4 }, "map-category-3-4/2/17"],
  [{ kind: "segments" }, { level: 2, i: 17, levelY: 3, row: 0 }, "segments-3-0/2/17"],
] as const)("%j at %j is %s", (picture, place, want) => expect(pathOf(picture, place)).toBe(want));

describe("tiles of a window", () => {
  test("are those that it meets", () => {
    expect(tilesOf({ from: 500, to: 1030 }, 0, 1e6)).toEqual([0, 1, 2]);
    expect(tilesOf({ from: 512, to: 1024 }, 0, 1e6)).toEqual([1]);
  });
  test("end where the axis does", () => {
    expect(tilesOf({ from: 0, to: 1e9 }, 1, 1025)).toEqual([0, 1]);
    expect(tilesOf({ from: -100, to: 10 }, 0, 1025)).toEqual([0]);
  });
});

test.each([
  [1, 0],
  [512, 0],
  [513, 1],
  [1024, 1],
  [52_416, 7],
  [50e6, 17],
])("of %d events the coarsest level is %d", (events, want) => {
  expect(rootLevel(events)).toBe(want);
  expect(tileWidth(want)).toBeGreaterThanOrEqual(events);
});

test("parents lead to the root, along both axes at once", () => {
  const root = { level: 4, levelY: 2 };
  expect(parent({ level: 3, i: 5, levelY: 1, row: 3 }, root)).toEqual({ level: 4, i: 2, levelY: 2, row: 1 });
  expect(parent({ level: 3, i: 5, levelY: 2, row: 0 }, root)).toEqual({ level: 4, i: 2, levelY: 2, row: 0 });
  expect(parent({ level: 4, i: 0, levelY: 2, row: 0 }, root)).toBeNull();
});
