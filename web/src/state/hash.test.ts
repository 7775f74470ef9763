import { expect, test } from "vitest";
import { type AppState, decodeHash, defaultState, encodeHash } from "./hash.ts";

const full: AppState = {
  view: "map",
  device: { id: "3f9a0c41d2e8", dev: 1 },
  range: { from: -12.5, to: 5212.125 },
  axis: "time",
  cursor: -1,
  selection: { kind: "block", block: 42 },
  marked: { from: 10, to: 20 },
  by: "module",
  query: "size>64MiB file:a b.py -leak: 100% #&=é",
  table: "events",
  sort: "-size_bytes",
  live: true,
  twin: true,
  flame: { invert: true, library: false, range: true, zoom: "0.2.1" },
  vertical: { from: 0, to: 4096 },
  fragments: true,
  height: { from: 1024, to: 17_179_869_184.25 },
  lines: ["active", "requested"],
  blocks: false,
  other: { id: "00aa", dev: 0 },
  finding: 3,
  marks: [5, 70, 800],
  renderer: "webgl",
};

test("every field goes through the hash and back", () => {
  for (const field of Object.keys(defaultState) as (keyof AppState)[])
    expect(full[field], `the test's ${field} is the default`).not.toEqual(defaultState[field]);
  expect(decodeHash(encodeHash({ state: full, unknown: [] }))).toEqual({ state: full, unknown: [] });
});

test.each<AppState["selection"]>([
  { kind: "site", site: 7 },
  { kind: "segment", address: "0x7f6b2c000000" },
  { kind: "group", by: "category", group: 3 },
  { kind: "group", by: "stream", group: -1 },
])("selection %j goes through the hash and back", (selection) => {
  const state = { ...defaultState, selection };
  expect(decodeHash(encodeHash({ state, unknown: [] })).state).toEqual(state);
});

test("what is at its default is left out, and a query stays readable", () => {
  expect(encodeHash({ state: defaultState, unknown: [] })).toBe("#u=1");
  const state: AppState = { ...defaultState, view: "tables", query: "file:src/a.py step:3" };
  expect(encodeHash({ state, unknown: [] })).toBe("#u=1&v=tables&q=file:src/a.py%20step:3");
});

test("keys of a later version are kept", () => {
  const decoded = decodeHash("#u=1&v=flame&zz=a%26b");
  expect(decoded.unknown).toEqual([["zz", "a&b"]]);
  expect(encodeHash(decoded)).toBe("#u=1&v=flame&zz=a%26b");
});

test("a hash of another version shows the default state", () => {
  expect(decodeHash("#u=2&v=flame").state).toEqual(defaultState);
});

test.each([
  "#",
  "",
  "garbage",
  "#u=1&v=nonsense&e=1e9&r=5-1&s=x12&d=zz.0&m=1.x&f=q&o=;drop",
  "#u=1&e=99999999999999999999&r=1-2-3&s=b-4&d=ab.&y=nan-nan",
  "#=&==&%=%E0%A4%A&u=1",
])("%j is read as the default state", (hash) => {
  expect(decodeHash(hash).state).toEqual(defaultState);
});

test("a lone per cent sign in a query that someone typed is itself", () => {
  expect(decodeHash("#q=100%").state.query).toBe("100%");
});

test("marks are in order and each is there once", () => {
  expect(decodeHash("#m=9.3.9").state.marks).toEqual([3, 9]);
});

test("a timeline without lines, and one that fits its height, are remembered as such", () => {
  const state: AppState = { ...defaultState, lines: [], height: "window" };
  expect(decodeHash(encodeHash({ state, unknown: [] })).state).toEqual(state);
  expect(decodeHash("#u=1&a=reserved.no_such.active").state.lines).toEqual(["reserved", "active"]);
});
