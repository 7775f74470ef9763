// The bytes are those that the Go tests pin, and what they hold is told beside each by a
// reader of the document that knows nothing of this one: internal/lod/testdata.

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { decodeTile, type Tile } from "./decode.ts";

const folder = new URL("../../../internal/lod/testdata/tiles/", import.meta.url);
const names = readdirSync(folder)
  .filter((file) => file.endsWith(".tile"))
  .map((file) => file.slice(0, -".tile".length));

interface Told {
  readonly header: Readonly<Record<string, number>>;
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly values: readonly number[];
  }[];
}

function bytesOf(name: string): ArrayBuffer {
  const file = readFileSync(new URL(`${name}.tile`, folder));
  return file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;
}

/** "allocated_min" is the column min of the series allocated; the others are called as in the document. */
function columnOf(tile: Tile, name: string): ArrayLike<number> | null {
  const [series, part] = name.split("_");
  const value = (tile as unknown as Record<string, unknown>)[series!];
  return (part ? (value as Record<string, unknown>)[part] : value) as ArrayLike<number> | null;
}

test("there are tiles of every kind", () => {
  const kinds = new Set(names.map((name) => decodeTile(bytesOf(name)).kind));
  expect([...kinds].sort()).toEqual(["bands", "blocks", "counters", "packed", "segments"]);
});

describe.each(names)("%s", (name) => {
  const told = JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) as Told;
  const tile = decodeTile(bytesOf(name));

  test("has the header that is told", () => {
    const { flags, level_x, from_x, nx, level_y, from_y, ny, count, points, cells_x, cells_y } = told.header;
    expect(tile).toMatchObject({
      ...{ ofTime: (flags! & 1) !== 0, tooMany: (flags! & 4) !== 0, levelX: level_x, fromX: from_x, nx },
      ...{ levelY: level_y, fromY: from_y, ny, count, points, cellsX: cells_x, cellsY: cells_y },
    });
  });

  test("has the columns that are told", () => {
    for (const column of told.columns) {
      expect(Array.from(columnOf(tile, column.name)!), column.name).toEqual(column.values);
    }
  });

  test("is refused when it is cut short or too long", () => {
    const bytes = bytesOf(name);
    expect(() => decodeTile(bytes.slice(0, bytes.byteLength - 1))).toThrow("ends after");
    const longer = new Uint8Array(bytes.byteLength + 1);
    longer.set(new Uint8Array(bytes));
    expect(() => decodeTile(longer.buffer)).toThrow("want");
  });
});

describe("what is no tile is refused", () => {
  const change = (at: number, value: number) => {
    const bytes = bytesOf("counters");
    new DataView(bytes).setUint8(at, value);
    return () => decodeTile(bytes);
  };
  test("nothing", () => expect(() => decodeTile(new ArrayBuffer(0))).toThrow("header"));
  test("another magic", () => expect(change(0, 0)).toThrow("ULLT"));
  test("another version", () => expect(change(4, 2)).toThrow("version 2"));
  test("another kind", () => expect(change(6, 9)).toThrow("kind 9"));
  test("a count beyond the bytes", () => expect(change(27, 0x7f)).toThrow("tile"));
});
