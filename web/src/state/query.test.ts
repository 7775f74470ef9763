import { expect, test } from "vitest";
import { namesSought, soughtIn, wordAt } from "./query.ts";
import { question } from "./question.ts";

test("a query is cut at the word at fault", () => {
  expect(wordAt("a size>>3 b", { at: 2, length: 7 })).toEqual({ before: "a ", word: "size>>3", after: " b" });
});

test("places are counted as JavaScript counts", () => {
  expect(wordAt("😀 x:1", { at: 3, length: 3 }).word).toBe("x:1");
});

test("a place that is not in the query points at nothing", () => {
  const nothing = { before: "abc", word: "", after: "" };
  expect(wordAt("abc", null)).toEqual(nothing);
  expect(wordAt("abc", { at: 3, length: 1 })).toEqual(nothing);
  expect(wordAt("abc", { at: -1, length: 1 })).toEqual(nothing);
  expect(wordAt("abc", { at: 1, length: 9 })).toEqual({ before: "a", word: "bc", after: "" });
});

test("names are what a flame graph can light up", () => {
  expect(namesSought("Forward file:train.py func:step size>3 leak: -x step:3")).toEqual([
    "forward",
    "train.py",
    "step",
  ]);
  expect(namesSought("  ")).toEqual([]);
  expect(soughtIn("Net.Forward", ["forward"])).toBe(true);
  expect(soughtIn("backward", ["forward"])).toBe(false);
  expect(soughtIn("anything", [])).toBe(false);
});

test("questions have their parameters in order, encoded, and none that is not given", () => {
  expect(
    question("table/blocks", { sort: "-size_bytes", count: 1000, q: "a b>3", from: null, event: "" }),
  ).toBe("table/blocks?count=1000&q=a%20b%3E3&sort=-size_bytes");
  expect(question("flame", { event: 0, invert: true, library: false })).toBe("flame?event=0&invert=1");
  expect(question("tune", {})).toBe("tune");
});
