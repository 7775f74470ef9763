// The URL's hash holds the whole state of the page, so that a link shows what its sender saw. Keys are
// short, values readable, what is at its default is left out, and keys that this version does not know
// are kept as they are.
//
//	#u=1&v=map&d=3f9a0c41d2e8.0&r=1200-5212&e=4711&s=b42

import type { DeviceRef, GroupBy } from "../source/api.ts";
import type { TableName } from "./types.ts";
import {
  type Axis,
  type Range,
  type RendererChoice,
  type Selection,
  type SeriesName,
  seriesNames,
  type ViewName,
} from "./viewer.ts";

export const views = [
  "timeline",
  "map",
  "moment",
  "flame",
  "tables",
  "findings",
  "compare",
  "tune",
] as const satisfies readonly ViewName[];

/** How the flame view looks at the calls; zoom is a path of places among siblings, as in "0.2.1". */
export interface FlameState {
  readonly invert: boolean;
  readonly library: boolean;
  readonly range: boolean;
  readonly zoom: string;
}

export interface AppState {
  view: ViewName;
  /** The id may be cut to its first characters, as it is in a link. */
  device: DeviceRef | null;
  /** Events that the time axis shows; null shows all. */
  range: Range | null;
  axis: Axis;
  /** Event under the cursor; null puts it at the peak of what is allocated. */
  cursor: number | null;
  selection: Selection | null;
  marked: Range | null;
  by: GroupBy;
  query: string;
  table: TableName;
  /** Column of the table, with "-" before it for falling; "" is the table's own order. */
  sort: string;
  /** Tables show what is live at the cursor only. */
  live: boolean;
  /** Pictures are shown as lists. */
  twin: boolean;
  flame: FlameState;
  /** The map's vertical window, in bytes of its axis; null shows all. */
  vertical: Range | null;
  /** The map marks what is free between blocks at the cursor. */
  fragments: boolean;
  /** Amounts that the timeline's height stands for: null for the recording's, "window" for those in sight. */
  height: Range | "window" | null;
  /** Amounts that the timeline draws as lines. */
  lines: readonly SeriesName[];
  /** The timeline draws each block by itself where there is room. */
  blocks: boolean;
  /** The device that the chosen one is compared with. */
  other: DeviceRef | null;
  /** Number of the finding that is open, as the list counts; null opens none. */
  finding: number | null;
  /** Events that the reader marked, ascending. */
  marks: readonly number[];
  renderer: RendererChoice;
}

export const defaultState: AppState = {
  view: "timeline",
  device: null,
  range: null,
  axis: "events",
  cursor: null,
  selection: null,
  marked: null,
  by: "category",
  query: "",
  table: "blocks",
  sort: "",
  live: false,
  twin: false,
  flame: { invert: false, library: true, range: false, zoom: "" },
  vertical: null,
  fragments: false,
  height: null,
  lines: ["reserved"],
  blocks: true,
  other: null,
  finding: null,
  marks: [],
  renderer: "auto",
};

/** A state and the keys beside it that this version does not know. */
export interface Decoded {
  state: AppState;
  unknown: [key: string, value: string][];
}

/** Version of the keys below. Of a hash of another version nothing is understood. */
const version = "1";

const groupings = ["category", "module", "site", "stream"] as const;

interface Codec<K extends keyof AppState> {
  key: string;
  field: K;
  encode(value: AppState[K]): string;
  /** Undefined where the text is no such value: the default stays. */
  decode(text: string): AppState[K] | undefined;
}

function codec<K extends keyof AppState>(
  key: string,
  field: K,
  encode: (value: NonNullable<AppState[K]>) => string,
  decode: (text: string) => AppState[K] | undefined,
): Codec<keyof AppState> {
  const whole: Codec<K> = {
    key,
    field,
    encode: (value) => encode(value as NonNullable<AppState[K]>),
    decode,
  };
  return whole as unknown as Codec<keyof AppState>;
}

const codecs = [
  codec("v", "view", String, oneOf(views)),
  codec("d", "device", encodeDevice, decodeDevice),
  codec("r", "range", encodeRange, decodeRange),
  codec("x", "axis", String, oneOf(["events", "time"])),
  codec("e", "cursor", String, decodeInteger),
  codec("s", "selection", encodeSelection, decodeSelection),
  codec("k", "marked", encodeRange, decodeRange),
  codec("g", "by", String, oneOf(groupings)),
  codec("q", "query", String, String),
  codec("t", "table", String, oneOf(["blocks", "sites", "segments", "events"])),
  codec("o", "sort", String, (text) => (/^-?\w+$/.test(text) ? text : undefined)),
  codec("l", "live", encodeFlag, (text) => text === "1"),
  codec("p", "twin", encodeFlag, (text) => text === "1"),
  codec("f", "flame", encodeFlame, decodeFlame),
  codec("y", "vertical", encodeRange, decodeRange),
  codec("c", "fragments", encodeFlag, (text) => text === "1"),
  codec("h", "height", encodeHeight, (text) => (text === "window" ? text : decodeRange(text))),
  codec("a", "lines", (lines) => lines.join("."), decodeLines),
  codec("b", "blocks", encodeFlag, (text) => text !== "0"),
  codec("w", "other", encodeDevice, decodeDevice),
  codec("n", "finding", String, decodeInteger),
  codec("m", "marks", (marks) => marks.join("."), decodeMarks),
  codec("draw", "renderer", String, oneOf(["auto", "canvas", "webgl"])),
];

/** The hash of a state, with "#" before it. */
export function encodeHash({ state, unknown }: Decoded): string {
  const parts = [`u=${version}`];
  for (const c of codecs) {
    const value = state[c.field];
    if (!same(value, defaultState[c.field])) parts.push(`${c.key}=${escapeValue(c.encode(value))}`);
  }
  for (const [key, value] of unknown) parts.push(`${escapeValue(key)}=${escapeValue(value)}`);
  return `#${parts.join("&")}`;
}

/** Reads a hash, with or without "#". Values that are not understood count as missing. */
export function decodeHash(hash: string): Decoded {
  const pairs = splitPairs(hash);
  const state: AppState = { ...defaultState };
  const ours = (pairs.find(([key]) => key === "u")?.[1] ?? version) === version;
  const unknown: [string, string][] = [];
  for (const [key, value] of pairs) {
    const c = codecs.find((each) => each.key === key);
    if (c && ours) assign(state, c, value);
    else if (!c && key !== "u") unknown.push([key, value]);
  }
  return { state, unknown };
}

function assign<K extends keyof AppState>(state: AppState, c: Codec<K>, text: string): void {
  const value = c.decode(text);
  if (value !== undefined) state[c.field] = value;
}

function splitPairs(hash: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at > 0) pairs.push([unescapeValue(part.slice(0, at)), unescapeValue(part.slice(at + 1))]);
  }
  return pairs;
}

/** Leaves alone what is harmless in a hash, so that a query stays readable. */
function escapeValue(text: string): string {
  return encodeURIComponent(text).replace(/%(3A|2F|2C|40|24)/gi, decodeURIComponent);
}

function unescapeValue(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone % that someone typed
  }
}

/** Whether two values of a field are the same; they are plain data. */
export function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function oneOf<T extends string>(values: readonly T[]): (text: string) => T | undefined {
  return (text) => values.find((value) => value === text);
}

function decodeInteger(text: string): number | undefined {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function encodeFlag(flag: boolean): string {
  return flag ? "1" : "0";
}

function encodeDevice(device: DeviceRef): string {
  return `${device.id.slice(0, 12)}.${device.dev}`;
}

/** The id of a recording by its place on the command line, for links that outlive what was read. */
export function placeOf(index: number): string {
  return `@${index}`;
}

function decodeDevice(text: string): DeviceRef | undefined {
  const match = /^([0-9a-f]{1,64}|@\d{1,6})\.(\d{1,6})$/.exec(text);
  return match?.[1] && match[2] ? { id: match[1], dev: Number(match[2]) } : undefined;
}

/** Ends are kept to a thousandth of an event: a pixel of the deepest zoom is more than that. */
function encodeRange({ from, to }: Range): string {
  return `${shortNumber(from)}-${shortNumber(to)}`;
}

function shortNumber(n: number): string {
  return String(Math.round(n * 1000) / 1000);
}

function decodeRange(text: string): Range | undefined {
  const match = /^(-?\d{1,16}(?:\.\d{1,3})?)-(-?\d{1,16}(?:\.\d{1,3})?)$/.exec(text);
  if (!match) return undefined;
  const range = { from: Number(match[1]), to: Number(match[2]) };
  return range.from <= range.to ? range : undefined;
}

function encodeSelection(selection: Selection): string {
  switch (selection.kind) {
    case "block":
      return `b${selection.block}`;
    case "site":
      return `s${selection.site}`;
    case "segment":
      return selection.address;
    case "group":
      return `${selection.by}.${selection.group}`;
  }
}

function decodeSelection(text: string): Selection | undefined {
  if (/^0x[0-9a-f]{1,16}$/.test(text)) return { kind: "segment", address: text };
  const row = /^([bs])(\d{1,15})$/.exec(text);
  if (row)
    return row[1] === "b" ? { kind: "block", block: Number(row[2]) } : { kind: "site", site: Number(row[2]) };
  const [by, group] = text.split(".", 2);
  const grouping = groupings.find((each) => each === by);
  const id = decodeInteger(group ?? "");
  return grouping && id !== undefined ? { kind: "group", by: grouping, group: id } : undefined;
}

function encodeFlame(flame: FlameState): string {
  const flags = `${flame.invert ? "i" : ""}${flame.library ? "" : "u"}${flame.range ? "r" : ""}`;
  return flame.zoom ? `${flags}.${flame.zoom}` : flags;
}

function decodeFlame(text: string): FlameState | undefined {
  const match = /^([iur]*)(?:\.(\d+(?:\.\d+)*))?$/.exec(text);
  if (!match) return undefined;
  const flags = match[1] ?? "";
  return {
    invert: flags.includes("i"),
    library: !flags.includes("u"),
    range: flags.includes("r"),
    zoom: match[2] ?? "",
  };
}

function encodeHeight(height: Range | "window"): string {
  return height === "window" ? height : encodeRange(height);
}

/** Names that are no amount are passed over. */
function decodeLines(text: string): SeriesName[] {
  const names = text.split(".");
  return seriesNames.filter((name) => names.includes(name));
}

function decodeMarks(text: string): number[] | undefined {
  const marks = text.split(".").map(decodeInteger);
  if (marks.some((mark) => mark === undefined)) return undefined;
  return [...new Set(marks as number[])].sort((a, b) => a - b);
}
