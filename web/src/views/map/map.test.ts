import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Batch, STRIDE } from "../../draw/renderer.ts";
import type { Lane } from "../../source/api.ts";
import type { Moment } from "../../state/types.ts";
import { decodeTile, type RectsTile } from "../../tiles/decode.ts";
import { Lanes } from "./lanes.ts";
import { fragmentsOf } from "./pins.ts";
import { shade } from "./raster.ts";
import { addBlocks, densityAt, type Patch, patchAt, rectAt } from "./rects.ts";

const file = readFileSync(new URL("../../../../internal/lod/testdata/tiles/blocks.tile", import.meta.url));
const tile = decodeTile(
  file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer,
) as RectsTile;
const whole: Patch = { tile, key: "", from: 0, to: 256, low: 0, high: tile.ny * 2 ** tile.levelY };

describe("rectangles", () => {
  const drawn = (patch: Patch) => {
    const batch = new Batch();
    addBlocks(batch, patch, { toX: (x) => x, toY: (y) => y / 512 }, (group) => group, 99);
    return Array.from({ length: batch.count }, (_, i) => [
      ...batch.edges.subarray(i * STRIDE, i * STRIDE + 4),
    ]);
  };

  test("are found where they are, and nowhere else", () => {
    for (let r = 0; r < tile.count; r++) {
      const [start, place] = [tile.start[r]!, tile.place[r]!];
      if (start >= whole.to) continue;
      expect(rectAt(whole, start, place)?.id).toBe(tile.id[r]);
      expect(rectAt(whole, start, place + tile.size[r]!)?.id).not.toBe(tile.id[r]);
      expect(rectAt(whole, start - 1, place)?.id).not.toBe(tile.id[r]);
    }
  });

  test("are cut to the part of the map that a tile stands for", () => {
    const part = { ...whole, from: 64, to: 128 };
    for (const [x0, , x1] of drawn(part)) {
      expect(x0).toBeGreaterThanOrEqual(64);
      expect(x1).toBeLessThanOrEqual(129); // at least a pixel wide
    }
    expect(drawn({ ...whole, from: 0, to: 0 })).toEqual([]);
  });

  test("of a tile do not overlap", () => {
    const boxes = drawn(whole);
    for (const [i, a] of boxes.entries()) {
      for (const b of boxes.slice(i + 1)) {
        const apart = a[2]! <= b[0]! || b[2]! <= a[0]! || a[3]! <= b[1]! || b[3]! <= a[1]!;
        expect(apart, `${a} and ${b}`).toBe(true);
      }
    }
  });
});

test("a point has the patch that covers it", () => {
  const patches = [
    { ...whole, to: 128 },
    { ...whole, from: 128, key: "right" },
  ];
  expect(patchAt(patches, 128, 0)?.key).toBe("right");
  expect(patchAt(patches, 5000, 0)).toBeNull();
});

test("the raster is read at the cell of a point", () => {
  const cell = tile.density.findIndex((share) => share > 0);
  const event = ((cell % tile.cellsX) * 2 + 1) * 2 ** tile.levelX;
  const units = (Math.floor(cell / tile.cellsX) * 2 + 1) * 2 ** tile.levelY;
  expect(densityAt(whole, event, units)).toBeCloseTo(tile.density[cell]! / 255);
  expect(densityAt(whole, 1e9, 0)).toBe(0);
});

test("shading: nothing is clear, the least is seen, the fullest is opaque", () => {
  const rgba = shade(Uint8Array.from([0, 1, 255]), 0xff332211);
  expect([rgba[3], rgba[11]]).toEqual([0, 255]);
  expect(rgba[7]).toBeGreaterThan(50);
  expect([...rgba.subarray(8, 11)]).toEqual([0x11, 0x22, 0x33]);
});

describe("lanes", () => {
  const lane = (address: string, size_bytes: number, offset_bytes: number): Lane => ({
    ...{ address, size_bytes, offset_bytes },
    ...{ stream: "0x0", pool: "0.0", small: false, expandable: false },
  });
  const lanes = new Lanes([lane("0x7fd0e8000000", 4096, 0), lane("0xffff000000000000", 8192, 4096)]);

  test("turn places into addresses and back, with all 64 bits", () => {
    expect(lanes.address(512)).toBe("0x7fd0e8000200");
    expect(lanes.address(4096 + 8191)).toBe("0xffff000000001fff");
    expect(lanes.address(4096 + 8192)).toBeNull();
    expect(lanes.place("0xffff000000000200")).toBe(4608);
    expect(lanes.place("0x10")).toBeNull();
  });

  test("are found by a part of the axis", () => {
    expect(lanes.within(0, 100)).toHaveLength(1);
    expect(lanes.within(4000, 5000)).toHaveLength(2);
  });
});

test("holes are free pieces beside blocks, pins the blocks of segments that are half empty or more", () => {
  const segment = (offset_bytes: number, spans: [size: number, block: number][]) => {
    let at = 0;
    const offset = spans.map(([size]) => {
      at += size;
      return at - size;
    });
    return {
      ...{ address: "0x0", size_bytes: at, offset_bytes, stack_id: 0, stream: "0x0", pool: "", small: false },
      expandable: false,
      spans: {
        offset,
        size: spans.map(([size]) => size),
        block: spans.map(([, block]) => block),
        state: [],
        group: [],
      },
    };
  };
  const moment = {
    segments: [
      segment(0, [
        [10, 1],
        [90, -1],
      ]),
      segment(100, [
        [60, 2],
        [40, -1],
      ]),
      segment(200, [[100, -1]]),
      segment(300, [
        [50, -1],
        [20, 3],
        [30, 4],
      ]),
    ],
  } as unknown as Moment;
  expect(fragmentsOf(moment)).toEqual({
    holes: [
      { place: 10, size: 90 },
      { place: 160, size: 40 },
      { place: 300, size: 50 },
    ],
    pins: [
      { block: 1, place: 0, size: 10 },
      { block: 3, place: 350, size: 20 },
      { block: 4, place: 370, size: 30 },
    ],
    freeBytes: 180,
    largestBytes: 90,
  });
});
