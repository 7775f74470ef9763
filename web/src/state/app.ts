// The page's one state. Each field is a signal: views read those they draw from and write those they let
// the reader change; what the URL holds follows by itself. What a view can do by a key it gives to
// useActions, what it can save as a picture to usePicture.

import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Device, DeviceRef, DeviceSummary, GroupBy, Recording, Session } from "../source/api.ts";
import type { Source } from "../source/source.ts";
import {
  type AppState,
  decodeHash,
  defaultState,
  encodeHash,
  type FlameState,
  placeOf,
  same,
} from "./hash.ts";
import type { Action } from "./keys.ts";
import { eventsIn } from "./time.ts";
import type { TableName } from "./types.ts";
import type {
  OpenDevice,
  Range,
  RendererChoice,
  Selection,
  SeriesName,
  Theme,
  ViewName,
  WheelScheme,
} from "./viewer.ts";

/** What a view offers to save: its picture, as it is shown. */
export interface Picture {
  name: string;
  png(): Promise<Blob>;
  /** Null where the view is no drawing. */
  svg: (() => string) | null;
}

export interface Toast {
  readonly id: number;
  readonly kind: "info" | "error";
  readonly text: string;
}

/** A key that was pressed, or a command that was chosen. */
export interface Press {
  /** Shift was held. */
  fast: boolean;
}

type Handler = (press: Press) => void;

/** A device that can be chosen: its recording is ready. */
export interface Choice {
  readonly ref: DeviceRef;
  readonly recording: Recording;
  readonly summary: DeviceSummary;
}

export class App {
  // What the URL holds.
  readonly view = signal<ViewName>("timeline");
  readonly axis = signal(defaultState.axis);
  readonly by = signal<GroupBy>("category");
  readonly range: Signal<Range> = signal({ from: 0, to: 1 });
  readonly cursor = signal(-1);
  readonly selection = signal<Selection | null>(null);
  readonly marked = signal<Range | null>(null);
  readonly query = signal("");
  readonly table = signal<TableName>("blocks");
  readonly sort = signal("");
  readonly live = signal(false);
  /** Pictures are shown as lists. */
  readonly twin = signal(false);
  readonly flame = signal<FlameState>(defaultState.flame);
  readonly vertical = signal<Range | null>(null);
  readonly fragments = signal(false);
  readonly height = signal<Range | "window" | null>(null);
  readonly lines = signal<readonly SeriesName[]>(defaultState.lines);
  readonly blocks = signal(true);
  readonly other = signal<DeviceRef | null>(null);
  readonly finding = signal<number | null>(null);
  readonly marks = signal<readonly number[]>([]);
  readonly renderer = signal<RendererChoice>("auto");

  // What it does not.
  readonly session = signal<Session | null>(null);
  /** The server does not answer any more. */
  readonly lost = signal(false);
  readonly device = signal<OpenDevice | null>(null);
  readonly deviceError = signal<Error | null>(null);
  /** The event under the pointer. */
  readonly hover = signal<number | null>(null);
  readonly theme = signal<Theme>("light");
  readonly wheel = signal<WheelScheme>("zoom");
  readonly spoken = signal("");
  readonly toasts = signal<readonly Toast[]>([]);
  readonly picture = signal<Picture | null>(null);
  readonly dialog = signal<"help" | "palette" | null>(null);
  readonly inspecting = signal(true);

  readonly choices: ReadonlySignal<Choice[]>;
  /** The device that is shown or asked for: the chosen one, or the first that is ready. */
  readonly choice: ReadonlySignal<Choice | null>;
  /** The whole of the axis: event e lies between e and e+1. */
  readonly whole: ReadonlySignal<Range>;
  /** The hash that leads here. */
  readonly link: ReadonlySignal<string>;

  private readonly wanted = signal<DeviceRef | null>(null);
  /** What a link says about a device that is not there yet. */
  private pending: Pick<AppState, "cursor" | "range"> = { cursor: null, range: null };
  private unknown: [string, string][] = [];
  private readonly handlers = new Map<Action, Handler[]>();
  private nextToast = 1;

  constructor(
    readonly source: Source,
    hash: string,
  ) {
    this.choices = computed(() => readyDevices(this.session.value));
    this.choice = computed(() =>
      findChoice(this.choices.value, this.wanted.value, settled(this.session.value)),
    );
    this.whole = computed(() => ({ from: 0, to: Math.max(1, this.device.value?.info.events ?? 1) }));
    this.link = computed(() => encodeHash({ state: this.snapshot(), unknown: this.unknown }));
    this.load(hash);
  }

  /** Takes over a hash that was opened, typed, or gone back to. */
  load(hash: string): void {
    const { state, unknown } = decodeHash(hash);
    this.unknown = unknown;
    batch(() => {
      for (const field of plainFields) (this[field] as Signal<unknown>).value = state[field];
      this.pending = { cursor: state.cursor, range: state.range };
      this.wanted.value = state.device;
      this.place();
    });
  }

  /** The state as the hash has it, with null for what is where it would be by itself. */
  private snapshot(): AppState {
    const device = this.device.value;
    const ref = this.wanted.value ?? device?.ref ?? null;
    const state: AppState = { ...defaultState, device: ref, ...(device ? {} : this.pending) };
    for (const field of plainFields) (state as unknown as Record<string, unknown>)[field] = this[field].value;
    if (!device) return state;
    if (!same(this.range.value, this.whole.value)) state.range = this.range.value;
    if (this.cursor.value !== device.info.peak.allocated_event) state.cursor = this.cursor.value;
    return state;
  }

  /** Shows another device, at its peak and as a whole. */
  choose(ref: DeviceRef): void {
    batch(() => {
      this.pending = { cursor: null, range: null };
      this.wanted.value = ref;
      this.selection.value = null;
      this.marked.value = null;
      this.vertical.value = null;
      this.height.value = null;
      this.finding.value = null;
      this.flame.value = { ...this.flame.value, zoom: "" };
    });
  }

  /** Keeps device in step with choice, by asking the source. The result ends it. */
  follow(): () => void {
    return effect(() => {
      const ref = this.choice.value?.ref;
      if (!ref || same(ref, this.device.peek()?.ref)) return undefined;
      const abort = new AbortController();
      this.device.value = null;
      this.deviceError.value = null;
      this.source.json<Device>(`rec/${ref.id}/${ref.dev}`, abort.signal).then(
        (info) => abort.signal.aborted || this.open({ ref, info }),
        (error: Error) => {
          if (!abort.signal.aborted) this.deviceError.value = error;
        },
      );
      return () => abort.abort();
    });
  }

  private open(device: OpenDevice): void {
    batch(() => {
      this.device.value = device;
      if (this.wanted.peek()?.id.startsWith("@")) this.wanted.value = device.ref;
      this.place();
    });
  }

  /** Puts cursor and range where the link wants them, else at the peak and over the whole. */
  private place(): void {
    const info = this.device.peek()?.info;
    if (!info) return;
    this.cursor.value = clampEvent(this.pending.cursor ?? info.peak.allocated_event, info.events);
    this.range.value = this.pending.range ?? this.whole.value;
  }

  /** A link leads to a device that is in none of the recordings that were read. */
  get astray(): boolean {
    const wanted = this.wanted.value;
    const choice = this.choice.value;
    return wanted !== null && choice !== null && !leadsTo(wanted, choice);
  }

  /** The path of a question about the device that is shown; null while there is none. */
  path(question: string): string | null {
    const ref = this.device.value?.ref;
    return ref ? `rec/${ref.id}/${ref.dev}${question === "" ? "" : `/${question}`}` : null;
  }

  /** Puts the cursor on an event and moves the range so far that the event is in it. */
  goTo(event: number): void {
    const info = this.device.peek()?.info;
    if (!info) return;
    batch(() => {
      this.cursor.value = clampEvent(event, info.events);
      this.range.value = including(this.range.peek(), this.cursor.peek());
    });
  }

  /** The events of the marked range, first and last; null where none is marked. */
  markedEvents(): { first: number; last: number } | null {
    const range = this.marked.value;
    const info = this.device.value?.info;
    return range && info ? eventsIn(range, info.events) : null;
  }

  say(text: string): void {
    // The same words are spoken again only if the text differs, hence the space, which no one hears.
    this.spoken.value = this.spoken.peek() === text ? `${text} ` : text;
  }

  toast(text: string, kind: Toast["kind"] = "info"): void {
    this.toasts.value = [...this.toasts.peek(), { id: this.nextToast++, kind, text }].slice(-4);
  }

  dismiss(id: number): void {
    this.toasts.value = this.toasts.peek().filter((toast) => toast.id !== id);
  }

  /** Adds what an action does. The last to come goes first; the result takes it away again. */
  on(action: Action, handler: Handler): () => void {
    this.handlers.set(action, [...(this.handlers.get(action) ?? []), handler]);
    return () => {
      const left = (this.handlers.get(action) ?? []).filter((each) => each !== handler);
      this.handlers.set(action, left);
    };
  }

  /** Whether the action does something in what is shown now. */
  can(action: Action): boolean {
    return (this.handlers.get(action)?.length ?? 0) > 0;
  }

  /** Does it, and tells whether there was something to do. */
  act(action: Action, press: Press = { fast: false }): boolean {
    const handler = this.handlers.get(action)?.at(-1);
    handler?.(press);
    return handler !== undefined;
  }
}

/** Fields that are in the hash as they are in the app. */
const plainFields = [
  "view",
  "axis",
  "by",
  "selection",
  "marked",
  "query",
  "table",
  "sort",
  "live",
  "twin",
  "flame",
  "vertical",
  "fragments",
  "height",
  "lines",
  "blocks",
  "other",
  "finding",
  "marks",
  "renderer",
] as const;

function readyDevices(session: Session | null): Choice[] {
  const ready = session?.recordings.filter((recording) => recording.state === "ready") ?? [];
  return ready.flatMap((recording) =>
    (recording.devices ?? []).map((summary) => ({
      ref: { id: recording.id, dev: summary.dev },
      recording,
      summary,
    })),
  );
}

/** Nothing more is being read. */
function settled(session: Session | null): boolean {
  return session?.recordings.every(({ state }) => state === "ready" || state === "failed") ?? false;
}

/** Whether the id of a link, which may be cut or tell the place, is that of a recording. */
function leadsTo(wanted: DeviceRef, { ref, recording }: Choice): boolean {
  return ref.id.startsWith(wanted.id) || wanted.id === placeOf(recording.index);
}

/**
 * The device of a link, whose id may be cut; without one the first GPU on which anything happened. A
 * linked device that is not there is waited for until all is read.
 */
export function findChoice(
  choices: readonly Choice[],
  wanted: DeviceRef | null,
  settled: boolean,
): Choice | null {
  const found = wanted && choices.find((choice) => leadsTo(wanted, choice) && choice.ref.dev === wanted.dev);
  if (found) return found;
  if (wanted && !settled) return null;
  return choices.find(({ summary }) => summary.kind === "gpu" && summary.events > 0) ?? choices[0] ?? null;
}

function clampEvent(event: number, events: number): number {
  return Math.max(-1, Math.min(events - 1, event));
}

/** The range moved just so far that it holds the event, with a tenth of it as margin. */
export function including(range: Range, event: number): Range {
  const width = range.to - range.from;
  const margin = width / 10;
  if (event < range.from) return { from: event - margin, to: event - margin + width };
  if (event + 1 > range.to) return { from: event + 1 + margin - width, to: event + 1 + margin };
  return range;
}
