// Where the boxes of a flame graph stand: a call's box lies below its caller's and is as wide as its bytes.

import type { FlameAnswer } from "../../state/types.ts";

export interface FlameBox {
  node: number;
  x: number;
  width: number;
  depth: number;
  /** It lies above the node that is zoomed to, and is as wide as the picture. */
  above: boolean;
}

export interface FlameLayout {
  boxes: FlameBox[];
  /** Rows of the picture. */
  depth: number;
  /** Boxes that are too narrow to be drawn. */
  narrow: number;
}

type Nodes = FlameAnswer["nodes"];

/** A node's place among its siblings, from the root: "0.2.1". */
export function zoomPath(nodes: Nodes, node: number): string {
  const places: number[] = [];
  for (let at = node; at >= 0; at = nodes.parent[at] ?? -1) places.unshift(placeAmongSiblings(nodes, at));
  return places.join(".");
}

function placeAmongSiblings(nodes: Nodes, node: number): number {
  const parent = nodes.parent[node];
  let place = 0;
  for (let i = Math.max(0, parent ?? 0); i < node; i++) if (nodes.parent[i] === parent) place++;
  return place;
}

/** The node at a path; -1, which is all of them, where there is none. */
export function nodeAt(nodes: Nodes, path: string): number {
  let node = -1;
  for (const text of path === "" ? [] : path.split(".")) {
    const next = childrenOf(nodes, node)[Number(text)];
    if (next === undefined) return -1;
    node = next;
  }
  return node;
}

export function childrenOf(nodes: Nodes, node: number): number[] {
  const children: number[] = [];
  for (let i = node + 1; i < nodes.parent.length; i++) {
    if (nodes.parent[i] === node) children.push(i);
    else if (node >= 0 && (nodes.parent[i] ?? -1) < node) break; // depth first: its branch ends here
  }
  return children;
}

function ancestorsOf(nodes: Nodes, node: number): number[] {
  const ancestors: number[] = [];
  for (let at = nodes.parent[node] ?? -1; at >= 0; at = nodes.parent[at] ?? -1) ancestors.unshift(at);
  return ancestors;
}

/**
 * Lays out the branch below zoom (-1: everything) over width pixels, with the callers of zoom above it.
 * Boxes narrower than least, and all below them, are counted and left out. Nodes come depth first.
 */
export function layoutFlame(
  answer: Pick<FlameAnswer, "nodes" | "total_bytes">,
  zoom: number,
  width: number,
  least: number,
): FlameLayout {
  const { nodes } = answer;
  const above = zoom < 0 ? [] : ancestorsOf(nodes, zoom);
  const boxes: FlameBox[] = above.map((node, depth) => ({ node, x: 0, width, depth, above: true }));
  const whole = zoom < 0 ? answer.total_bytes : (nodes.bytes[zoom] ?? 0);
  const branch = new Branch(nodes, whole > 0 ? width / whole : 0, least);
  const narrow = branch.walk(zoom, above.length, boxes);
  return { boxes, narrow, depth: boxes.reduce((deepest, box) => Math.max(deepest, box.depth + 1), 0) };
}

/** One pass over a branch, in which each node stands where its elder siblings end. */
class Branch {
  /** Where the next child of a drawn node begins, in pixels. */
  private readonly next = new Map<number, number>();
  private readonly depth = new Map<number, number>();

  constructor(
    private readonly nodes: Nodes,
    private readonly pixelsPerByte: number,
    private readonly least: number,
  ) {}

  walk(zoom: number, firstDepth: number, boxes: FlameBox[]): number {
    const root = zoom < 0 ? -1 : (this.nodes.parent[zoom] ?? -1);
    this.next.set(root, 0);
    this.depth.set(root, firstDepth - 1);
    let narrow = 0;
    for (let node = Math.max(0, zoom); node < this.nodes.parent.length; node++) {
      const parent = this.nodes.parent[node] ?? -1;
      if (zoom >= 0 && node > zoom && parent < zoom) break;
      const box = this.place(node, parent);
      if (box && box.width >= this.least) this.keep(box, boxes);
      else narrow++;
    }
    return narrow;
  }

  private place(node: number, parent: number): FlameBox | null {
    const x = this.next.get(parent);
    if (x === undefined) return null; // its caller is too narrow already
    const width = (this.nodes.bytes[node] ?? 0) * this.pixelsPerByte;
    this.next.set(parent, x + width);
    return { node, x, width, depth: (this.depth.get(parent) ?? -1) + 1, above: false };
  }

  private keep(box: FlameBox, boxes: FlameBox[]): void {
    this.next.set(box.node, box.x);
    this.depth.set(box.node, box.depth);
    boxes.push(box);
  }
}

/** The box at a point, where rows are rowHeight high. */
export function boxAt(layout: FlameLayout, x: number, y: number, rowHeight: number): FlameBox | null {
  const depth = Math.floor(y / rowHeight);
  return layout.boxes.find((box) => box.depth === depth && x >= box.x && x < box.x + box.width) ?? null;
}

/** Bytes below calls whose name matches; of such calls within each other the outermost counts. */
export function matchingBytes(
  { nodes, names }: Pick<FlameAnswer, "nodes" | "names">,
  matches: (name: string) => boolean,
): number {
  const within = new Uint8Array(nodes.parent.length);
  const fits = names.map(matches);
  let bytes = 0;
  for (const [node, parent] of nodes.parent.entries()) {
    within[node] = parent >= 0 ? (within[parent] ?? 0) : 0;
    if (within[node] || !fits[nodes.name[node] ?? -1]) continue;
    within[node] = 1;
    bytes += nodes.bytes[node] ?? 0;
  }
  return bytes;
}
