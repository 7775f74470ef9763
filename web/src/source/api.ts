// What the server answers, as docs/formats/view-api.md lays it down: the session, and what a
// device is made of. Bytes and events are integers below 2^53; addresses are text.

/** A recording's content and a device in it. */
export interface DeviceRef {
  /** Hash of the recording's content. */
  readonly id: string;
  /** The device's place in the recording's list. */
  readonly dev: number;
}

export interface Verdict {
  readonly kind: string;
  readonly text: string;
}

export interface DeviceSummary {
  readonly dev: number;
  readonly device: number;
  readonly kind: "gpu" | "host";
  readonly events: number;
  readonly peak_allocated_bytes: number;
  readonly peak_reserved_bytes: number;
  readonly verdict: Verdict;
}

export type RecordingState = "waiting" | "reading" | "replaying" | "ready" | "failed";

export interface Recording {
  readonly id: string;
  readonly index: number;
  readonly file: string;
  readonly rank: number | null;
  readonly state: RecordingState;
  /** 0 to 1 within the state. */
  readonly progress: number;
  readonly error: string | null;
  readonly changed: boolean;
  readonly devices?: readonly DeviceSummary[];
}

export interface Session {
  readonly version: string;
  readonly build: string;
  readonly recordings: readonly Recording[];
  readonly ranks: unknown;
}

export interface Totals {
  readonly requested_bytes: number;
  readonly allocated_bytes: number;
  readonly active_bytes: number;
  readonly reserved_bytes: number;
}

export interface Peak {
  readonly requested_bytes: number;
  readonly requested_event: number;
  readonly allocated_bytes: number;
  readonly allocated_event: number;
  readonly reserved_bytes: number;
  readonly reserved_event: number;
}

export type MarkKind = "oom" | "retry" | "snapshot" | "annotation";

export interface Mark {
  readonly event: number;
  readonly kind: MarkKind;
  readonly text: string;
}

export type GroupBy = "category" | "module" | "site" | "stream";

export interface Group {
  readonly id: number;
  readonly name: string;
  readonly bytes: number;
  readonly event: number;
  /** The category of a site. */
  readonly of?: string;
}

export interface Grouping {
  readonly by: GroupBy;
  readonly groups: readonly Group[];
  /** How many groups there are beside those named. */
  readonly others: number;
}

/** A range of addresses that was reserved at some time: a lane of the map. */
export interface Lane {
  readonly address: string;
  readonly size_bytes: number;
  /** Where it begins on the map's axis, on which the lanes lie end to end. */
  readonly offset_bytes: number;
  readonly stream: string;
  readonly pool: string;
  readonly small: boolean;
  readonly expandable: boolean;
}

export interface Limit {
  readonly kind: string;
  readonly low_bytes: number;
  readonly high_bytes: number;
}

export interface Device {
  readonly file: string;
  readonly rank: number | null;
  readonly device: number;
  readonly kind: "gpu" | "host";
  readonly events: number;
  readonly from: string | null;
  readonly to: string | null;
  /** Points of the monotone map from events to microseconds since the first. */
  readonly times: { readonly events: readonly number[]; readonly us: readonly number[] } | null;
  readonly capacity_bytes: number | null;
  readonly limit: Limit | null;
  readonly peak: Peak;
  readonly start: Totals;
  readonly end: Totals;
  readonly steps: {
    readonly count: number;
    readonly name: string;
    readonly source: string;
    readonly bounds: readonly number[];
  };
  readonly marks: readonly Mark[];
  readonly marks_left_out: number;
  readonly groupings: readonly Grouping[];
  readonly lanes: readonly Lane[];
  readonly height_bytes: number;
  readonly tiles: { readonly max_level: number; readonly max_level_y: number; readonly unit_bytes: number };
  readonly coverage: unknown;
  readonly warnings: readonly unknown[];
}
