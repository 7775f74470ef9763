import { expect, test } from "vitest";
import { csvLine } from "./csv.ts";
import { rowAfter } from "./keys.ts";
import { chunkQuestion } from "./rows.ts";
import {
  afterWheel,
  chunksOf,
  type Extent,
  fittingRows,
  lastTop,
  mostPixels,
  revealing,
  scrollHeight,
  scrollTopOf,
  topAt,
  visibleRows,
} from "./virtual.ts";

const few: Extent = { rows: 100, rowHeight: 20, height: 400 };
const many: Extent = { rows: 50_000_000, rowHeight: 20, height: 410 };
const none: Extent = { rows: 0, rowHeight: 20, height: 400 };

test("few rows scroll pixel by pixel", () => {
  expect(scrollHeight(few)).toBe(2000);
  expect(topAt(few, 20)).toBe(1);
  expect(scrollTopOf(few, 1)).toBe(20);
});

test("many rows fit the bar, and both of its ends are the rows' ends", () => {
  expect(scrollHeight(many)).toBe(mostPixels);
  expect(topAt(many, 0)).toBe(0);
  const end = mostPixels - many.height;
  expect(topAt(many, end)).toBe(lastTop(many));
  expect(visibleRows(many, lastTop(many)).end).toBe(many.rows);
});

test.each([few, many])("a place of the bar leads to the row that has that place", (extent) => {
  for (const share of [0, 0.1, 0.37, 0.5, 0.99, 1]) {
    const top = share * lastTop(extent);
    expect(topAt(extent, scrollTopOf(extent, top))).toBeCloseTo(top, 3);
  }
});

test("the wheel goes by rows, however many there are", () => {
  expect(afterWheel(many, 1_000_000, 60)).toBe(1_000_003);
  expect(afterWheel(many, 1, -60)).toBe(0);
  expect(afterWheel(many, lastTop(many), 60)).toBe(lastTop(many));
});

test("a row is brought into sight by the shortest way", () => {
  expect(revealing(few, 10, 15)).toBe(10);
  expect(revealing(few, 10, 4)).toBe(4);
  expect(revealing(few, 10, 30)).toBe(11);
  expect(revealing(few, 0, 99)).toBe(lastTop(few));
  const top = revealing(many, 0, many.rows - 1);
  expect(top + many.height / many.rowHeight).toBeCloseTo(many.rows, 6);
});

test("rows in sight", () => {
  expect(visibleRows(few, 0)).toEqual({ first: 0, end: 20 });
  expect(visibleRows(few, 0.5)).toEqual({ first: 0, end: 21 });
  expect(visibleRows(few, 80)).toEqual({ first: 80, end: 100 });
  expect(visibleRows(none, 0)).toEqual({ first: 0, end: 0 });
  expect(fittingRows({ rows: 5, rowHeight: 20, height: 0 })).toBe(1);
});

test("no rows scroll nowhere", () => {
  expect(scrollHeight(none)).toBe(400);
  expect(topAt(none, 100)).toBe(0);
  expect(scrollTopOf(none, 0)).toBe(0);
  expect(afterWheel(none, 0, 100)).toBe(0);
});

test("chunks that hold the rows in sight", () => {
  expect(chunksOf(0, 20, 1000)).toEqual([0]);
  expect(chunksOf(990, 1010, 1000)).toEqual([0, 1]);
  expect(chunksOf(999, 1000, 1000)).toEqual([0]);
  expect(chunksOf(1000, 1000, 1000)).toEqual([1]);
});

test("the first chunk is asked for as an exported page knows it", () => {
  const query = { what: "blocks", q: "", sort: "-size_bytes", event: null, range: null } as const;
  expect(chunkQuestion(query, 0)).toBe("table/blocks?count=1000&sort=-size_bytes");
  expect(chunkQuestion(query, 2)).toBe("table/blocks?count=1000&from=2000&sort=-size_bytes");
});

test("a file of values can be read back", () => {
  expect(csvLine(["a", 1, null, true, undefined])).toBe("a,1,,true,");
  expect(csvLine(['say "hi"', "a,b", "two\nlines"])).toBe('"say ""hi""","a,b","two\nlines"');
});

test("no value is a formula for a spreadsheet", () => {
  expect(csvLine(["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "\rx", -5, "a=1", "0x7f"])).toBe(
    `'=1+1,'+x,'-x,'@SUM(A1),'\tx,"'\rx",-5,a=1,0x7f`,
  );
});

test("keys of the grid", () => {
  const key = (name: string, change = {}) =>
    rowAfter({ key: name, ctrlKey: false, altKey: false, metaKey: false, ...change }, 10, 100, 7);
  expect(key("ArrowDown")).toBe(11);
  expect(key("PageUp")).toBe(3);
  expect(key("End")).toBe(99);
  expect(key("x")).toBeNull();
  expect(key("ArrowDown", { altKey: true })).toBeNull();
});
