// What the server answers to the questions of single views: the types of docs/formats/view-api.md beside those in source/api.ts. Amounts are
// bytes, addresses text, an event is its ordinal among the device's events and -1 the moment before the first.

import type { Device, DeviceSummary, Lane, Peak, Totals, Verdict } from "../source/api.ts";

export interface Remedy {
  do: string;
  effect: string;
  bytes: number;
}

export type Severity = "error" | "warning" | "info";

export interface Finding {
  rule: string;
  severity: Severity;
  confidence: string;
  title: string;
  bytes: number;
  event: number | null;
  evidence: string[];
  frames: RuleFrame[];
  causes: string[];
  remedies: Remedy[];
  doc: string;
}

/** A frame as `explain` gives it; those of blocks and events are Frame. */
export interface RuleFrame {
  filename: string;
  line: number;
  name: string;
}

export interface Frame extends RuleFrame {
  kind: "user" | "library" | "python" | "cpp" | string;
}

export interface RanksSummary {
  verdict: Verdict;
  findings: Finding[];
  devices: DeviceSummary[];
}

export interface Coverage {
  begins: string;
  from?: string;
  to?: string;
  allocs: number;
  allocs_with_stack: number;
  cpp_stacks: boolean;
  start_bytes: number;
  inconsistent: string[];
  not_shown: string[];
}

export interface MomentSegment extends Lane {
  stack_id: number;
  spans: { offset: number[]; size: number[]; block: number[]; state: number[]; group: number[] };
}

export interface Moment {
  event: number;
  totals: Totals;
  action: Record<string, Cell> | null;
  segments: MomentSegment[];
}

export interface BlockDetail {
  block: number;
  address: string;
  size_bytes: number;
  requested_bytes: number;
  stream: string;
  alloc_event: number;
  free_requested_event: number | null;
  free_completed_event: number | null;
  life_us: number | null;
  category: string;
  confidence: string;
  /** What tells the category. */
  why: string;
  site: string;
  site_id: number;
  module: string;
  op: string;
  step: number | null;
  segment_address: string | null;
  frames: Frame[];
  held_by: string[];
}

/** A row of the table of events, with its stack and the totals after it. */
export interface EventDetail {
  event: number;
  time_us: number | null;
  action: string;
  address: string | null;
  size_bytes: number | null;
  stream: string | null;
  pool: string | null;
  block: number | null;
  category: string | null;
  site: string | null;
  site_id: number | null;
  module: string | null;
  step: number | null;
  frames: Frame[];
  totals: Totals;
}

export interface FlameAnswer {
  total_bytes: number;
  blocks: number;
  left_out: number;
  nodes: { parent: number[]; name: number[]; bytes: number[]; blocks: number[]; kind: string[] | number[] };
  names: string[];
}

export type Cell = string | number | boolean | null;

export type TableName = "blocks" | "sites" | "segments" | "events";

export type ColumnType =
  | "bytes"
  | "count"
  | "us"
  | "rate"
  | "event"
  | "block"
  | "site"
  | "step"
  | "address"
  | "text";

export interface TableColumn {
  name: string;
  type: ColumnType;
  title: string;
}

export interface TableAnswer {
  rows: number;
  matching: number;
  matching_bytes: number;
  from: number;
  columns: TableColumn[];
  data: Cell[][];
}

export interface TuneRow {
  conf: string;
  label: string;
  /** They act like the recording's own. */
  recorded: boolean;
  peak_reserved_bytes: number;
  /** The smallest limit under which the run lives as far as it was recorded. */
  smallest_limit_bytes: number | null;
  /** The event whose request fails. */
  runs_out: number | null;
  /** The peak's bounds over what no recording determines; null where that was not looked at. */
  low_bytes: number | null;
  high_bytes: number | null;
  exact: boolean;
}

export interface TuneAnswer {
  rows: TuneRow[];
  /** 0 from where memory ran out on. */
  curves: { conf: string; reserved: number[] }[];
  events: number[];
  /** The least of what bounds reserved memory. */
  room_bytes: number | null;
  /** Why nothing could be replayed. */
  cannot: string | null;
}

export interface CompareSite {
  site: string;
  /** What it was called before, where its line has moved; else "". */
  before_site: string;
  before_bytes: number;
  after_bytes: number;
  change_bytes: number;
  change: string;
}

export interface CompareAnswer {
  totals: { before: CompareTotals; after: CompareTotals };
  settings: { name: string; before: string; after: string }[];
  sites: CompareSite[];
  /** Sites that hold as much as before. */
  same: number;
  categories: { category: string; before_bytes: number; after_bytes: number }[];
}

export interface CompareTotals {
  event: number;
  allocated_bytes: number;
  reserved_bytes: number;
}

/** The part of `ullage explain --json` for one device that the page shows. */
export interface Explain {
  verdict: Verdict;
  coverage: Coverage;
  steps: Device["steps"];
  peak: Peak;
  findings: Finding[];
  warnings: string[];
}

export interface RulePage {
  id: string;
  title: string;
  text: string;
}
