import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Area, Batch, type Renderer, STRIDE } from "../../draw/renderer.ts";
import { columnsOf, type Piece } from "../../tiles/columns.ts";
import { type BandsTile, type CountersTile, decodeTile, NONE, type PackedTile } from "../../tiles/decode.ts";
import { extremesAt, paintLine } from "../shared/lines.ts";
import { highest, paintBands, sliceAt, stackOrder } from "./bands.ts";
import { addPacked, packedAt, traceBlock } from "./packed.ts";

function golden<T>(name: string): T {
  const file = readFileSync(new URL(`../../../../internal/lod/testdata/tiles/${name}.tile`, import.meta.url));
  return decodeTile(
    file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer,
  ) as T;
}

const bands = golden<BandsTile>("bands");
const counters = golden<CountersTile>("counters");
const packed = golden<PackedTile>("packed");
const events = counters.edge[counters.nx]!;
const all = { from: 0, to: events };

/** Keeps the areas that were painted. */
function recorder(): { areas: Area[]; renderer: Renderer } {
  const areas: Area[] = [];
  return { areas, renderer: { area: (area: Area) => void areas.push(area) } as unknown as Renderer };
}

describe("bands", () => {
  const columns = columnsOf([{ tile: bands, ...all }], all, (event) => event);
  const lines = columnsOf([{ tile: counters, ...all }], all, (event) => event);
  const best = highest(columns);
  const order = stackOrder(bands);

  test("add up to the highest of what is allocated, to the byte", () => {
    for (let c = 0; c < columns.count; c++) {
      const sum = sliceAt(columns, best, c, order).groups.reduce((bytes, each) => bytes + each.bytes, 0);
      expect(sum).toBe(extremesAt(lines, c, "allocated").max);
    }
  });

  test("keep the peak where a pixel holds many buckets", () => {
    const narrow = columnsOf([{ tile: bands, ...all }], all, (event) => event / 100);
    const sums = Array.from({ length: narrow.count }, (_, c) =>
      sliceAt(narrow, highest(narrow), c, order).groups.reduce((bytes, each) => bytes + each.bytes, 0),
    );
    expect(Math.max(...sums)).toBe(Math.max(...counters.allocated.max));
  });

  test("have everything else on top", () => {
    expect(order[order.length - 1]).toBe(NONE);
    expect([...order].sort()).toEqual([...bands.group].sort());
  });

  test("lie upon each other without a gap", () => {
    const { areas, renderer } = recorder();
    paintBands(
      renderer,
      columns,
      order,
      () => 0,
      (bytes) => 1000 - bytes / 1e5,
    );
    for (let i = 1; i < areas.length; i++) expect([...areas[i]!.low]).toEqual([...areas[i - 1]!.high]);
    expect([...areas[0]!.low].every((y) => y === 1000)).toBe(true);
  });
});

test("a line reaches from the lowest to the highest of each column, and joins the one before", () => {
  const columns = columnsOf([{ tile: counters, ...all }], all, (event) => event);
  const batch = new Batch();
  const toY = (bytes: number) => 1000 - bytes / 1e5;
  paintLine({ rects: () => {} } as unknown as Renderer, batch, columns, "reserved", 0, 2, toY);
  const boxes = Array.from({ length: batch.count }, (_, i) => [
    ...batch.edges.subarray(i * STRIDE, i * STRIDE + 4),
  ]);
  let before: { top: number; bottom: number } | null = null;
  for (let c = 0; c < columns.count; c++) {
    const { min, max } = extremesAt(columns, c, "reserved");
    const mine = boxes.filter(([x0]) => x0! >= columns.x[c]! && x0! < columns.x[c + 1]!);
    const top = Math.min(...mine.map(([, y0]) => y0!));
    const bottom = Math.max(...mine.map(([, , , y1]) => y1!));
    expect(top).toBeLessThanOrEqual(Math.round(toY(max)) - 2);
    expect(bottom).toBeGreaterThanOrEqual(Math.round(toY(min)));
    if (before) expect(Math.max(top, before.top)).toBeLessThanOrEqual(Math.min(bottom, before.bottom));
    before = { top, bottom };
  }
});

describe("single blocks", () => {
  const from = packed.fromX;
  const piece: Piece<PackedTile> = { tile: packed, from, to: from + packed.nx };

  /** Bytes allocated after an event, from the blocks. */
  const allocated = (event: number) => {
    let sum = 0;
    for (let b = 0; b < packed.count; b++)
      if (event >= packed.start[b]! && event < packed.end[b]!) sum += packed.size[b]!;
    return sum;
  };

  test("fill the stack from its foot to its top, each byte with one block", () => {
    for (let event = from; event < from + packed.nx; event += 7) {
      let bytes = 0;
      const top = allocated(event);
      while (bytes < top) {
        const block = packedAt(packed, event, bytes)!;
        expect(block).not.toBeNull();
        bytes += block.sizeBytes;
      }
      expect(bytes).toBe(top);
      expect(packedAt(packed, event, top)).toBeNull();
    }
  });

  test("are traced through the range, with steps that touch", () => {
    const id = packed.id[0]!;
    const steps: number[][] = [];
    traceBlock(piece, id, (...step) => steps.push(step));
    expect(steps.length).toBe(packed.first[1]! - packed.first[0]!);
    for (let k = 1; k < steps.length; k++) expect(steps[k]![0]).toBe(steps[k - 1]![1]);
  });

  test("that are smaller than a pixel leave no hole and do not overlap", () => {
    const batch = new Batch();
    const height = 20;
    const most = Math.max(...counters.allocated.max);
    const toY = (bytes: number) => height - (bytes / most) * height;
    const scales = { toX: (event: number) => event - from, toY, colour: () => 1, background: 2, ratio: 1 };
    addPacked(batch, piece, scales);
    const pixels = new Uint8Array(packed.nx * height);
    for (let i = 0; i < batch.count; i++) {
      const [x0, y0, x1, y1] = batch.edges.subarray(i * STRIDE, i * STRIDE + 4) as unknown as [
        number,
        number,
        number,
        number,
      ];
      const foot = y1 - y0 >= 8 ? y0 - 1 : y0; // the edge that tall blocks leave between them
      for (let y = Math.max(0, foot); y < y1; y++) for (let x = x0; x < x1; x++) pixels[y * packed.nx + x]!++;
    }
    for (let x = 0; x < packed.nx; x++) {
      const top = Math.round(toY(allocated(from + x)));
      for (let y = top; y < height; y++) expect(pixels[y * packed.nx + x], `${x} ${y}`).toBe(1);
      for (let y = 0; y < top - 1; y++) expect(pixels[y * packed.nx + x]).toBe(0);
    }
  });
});
