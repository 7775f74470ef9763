import { expect, test } from "vitest";
import type { FlameAnswer } from "../../state/types.ts";
import { shadeOf } from "./colours.ts";
import { boxAt, childrenOf, layoutFlame, matchingBytes, nodeAt, zoomPath } from "./layout.ts";

/** main 100 (train 70 (forward 50, backward 20 (grad 5)), eval 30), and load 10 beside it. */
const answer: Pick<FlameAnswer, "nodes" | "total_bytes"> = {
  total_bytes: 110,
  nodes: {
    parent: [-1, 0, 1, 1, 3, 0, -1],
    name: [0, 1, 2, 3, 4, 5, 6],
    bytes: [100, 70, 50, 20, 5, 30, 10],
    blocks: [6, 4, 2, 2, 1, 2, 1],
    kind: [],
  },
};

function boxes(zoom: number, width: number, least: number) {
  return layoutFlame(answer, zoom, width, least).boxes.map(({ node, x, width: w, depth }) => [
    node,
    x,
    w,
    depth,
  ]);
}

test("boxes lie below their callers, one behind the other", () => {
  expect(boxes(-1, 110, 1)).toEqual([
    [0, 0, 100, 0],
    [1, 0, 70, 1],
    [2, 0, 50, 2],
    [3, 50, 20, 2],
    [4, 50, 5, 3],
    [5, 70, 30, 1],
    [6, 100, 10, 0],
  ]);
});

test("a branch that is zoomed to has the whole width, its callers above it", () => {
  expect(boxes(1, 140, 1)).toEqual([
    [0, 0, 140, 0],
    [1, 0, 140, 1],
    [2, 0, 100, 2],
    [3, 100, 40, 2],
    [4, 100, 10, 3],
  ]);
  expect(
    layoutFlame(answer, 1, 140, 1)
      .boxes.filter(({ above }) => above)
      .map(({ node }) => node),
  ).toEqual([0]);
});

test("narrow boxes are left out with all below them, and counted", () => {
  const layout = layoutFlame(answer, -1, 110, 21);
  expect(layout.boxes.map(({ node }) => node)).toEqual([0, 1, 2, 5]);
  expect(layout.narrow).toBe(3);
  expect(layout.depth).toBe(3);
});

test("nothing at all has no boxes", () => {
  const nothing = { total_bytes: 0, nodes: { parent: [], name: [], bytes: [], blocks: [], kind: [] } };
  expect(layoutFlame(nothing, -1, 100, 1)).toEqual({ boxes: [], depth: 0, narrow: 0 });
});

test("a node's path leads back to it", () => {
  for (let node = -1; node < answer.nodes.parent.length; node++)
    expect(nodeAt(answer.nodes, zoomPath(answer.nodes, node))).toBe(node);
  expect(zoomPath(answer.nodes, 4)).toBe("0.0.1.0");
  expect(nodeAt(answer.nodes, "0.9")).toBe(-1);
});

test("children in their order", () => {
  expect(childrenOf(answer.nodes, -1)).toEqual([0, 6]);
  expect(childrenOf(answer.nodes, 0)).toEqual([1, 5]);
  expect(childrenOf(answer.nodes, 4)).toEqual([]);
});

test("the box under a point", () => {
  const layout = layoutFlame(answer, -1, 110, 1);
  expect(boxAt(layout, 55, 45, 20)?.node).toBe(3);
  expect(boxAt(layout, 105, 5, 20)?.node).toBe(6);
  expect(boxAt(layout, 105, 25, 20)).toBeNull();
});

test("what matches is counted once, by its outermost call", () => {
  const names = ["main", "train step", "forward step", "backward", "grad", "eval", "load"];
  expect(matchingBytes({ ...answer, names }, (name) => name.includes("step"))).toBe(70);
  expect(matchingBytes({ ...answer, names }, (name) => name === "eval" || name === "grad")).toBe(35);
  expect(matchingBytes({ ...answer, names }, () => false)).toBe(0);
});

test("a name's shade is its own", () => {
  expect(shadeOf("forward")).toBe(shadeOf("forward"));
  expect(new Set(["a", "b", "c", "d", "e", "f"].map(shadeOf)).size).toBe(3);
});
