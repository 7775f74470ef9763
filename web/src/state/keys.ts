// Every key of the page, in one table: what is pressed is looked up in it, and the help is printed from it. Letters are meant by their
// place on the keyboard (`code`), so that W, A, S and D lie together on every layout; signs such as ? by what they print (`key`).

import type { ViewName } from "./viewer.ts";

export type Action =
  | "zoom-in"
  | "zoom-out"
  | "pan-left"
  | "pan-right"
  | "pan-up"
  | "pan-down"
  | "taller"
  | "flatter"
  | "fit"
  | "previous"
  | "next"
  | "step-back"
  | "step-forward"
  | "peak"
  | "mark"
  | "search"
  | "help"
  | "clear"
  | "palette"
  | "inspect"
  | "export-picture"
  | "copy-link"
  | "copy-command"
  | "theme"
  | `view-${ViewName}`;

export interface Chord {
  /** Physical key, as in KeyboardEvent.code. */
  code?: string;
  /** The sign it prints, as in KeyboardEvent.key; Shift is then the layout's own matter. */
  key?: string;
  /** Ctrl, or Command on a Mac. */
  mod?: boolean;
}

export interface Hotkey {
  action: Action;
  chords: Chord[];
  group: KeyGroup;
  help: string;
  /** Shift makes it go further. */
  fast?: boolean;
}

export const keyGroups = ["Move", "Find", "Views", "Page"] as const;
export type KeyGroup = (typeof keyGroups)[number];

function hotkey(
  group: KeyGroup,
  action: Action,
  help: string,
  chords: (string | Chord)[],
  fast = false,
): Hotkey {
  return { group, action, help, fast, chords: chords.map((c) => (typeof c === "string" ? { code: c } : c)) };
}

export const hotkeys: readonly Hotkey[] = [
  hotkey("Move", "zoom-in", "Zoom in", ["KeyW", { key: "+" }], true),
  hotkey("Move", "zoom-out", "Zoom out", ["KeyS", { key: "-" }], true),
  hotkey("Move", "pan-left", "Move left", ["KeyA", "ArrowLeft"], true),
  hotkey("Move", "pan-right", "Move right", ["KeyD", "ArrowRight"], true),
  hotkey("Move", "pan-up", "Move up", ["ArrowUp"], true),
  hotkey("Move", "pan-down", "Move down", ["ArrowDown"], true),
  hotkey("Move", "taller", "Zoom in vertically", ["KeyR"], true),
  hotkey("Move", "flatter", "Zoom out vertically", ["KeyV"], true),
  hotkey("Move", "fit", "Show what is marked or selected, then all", ["Digit0", "Numpad0", "KeyF"]),
  hotkey("Find", "step-back", "Previous event; with Shift the tenth before", ["Comma"], true),
  hotkey("Find", "step-forward", "Next event; with Shift the tenth after", ["Period"], true),
  hotkey("Find", "previous", "Previous event of the selected block or site", ["BracketLeft"]),
  hotkey("Find", "next", "Next event of the selected block or site", ["BracketRight"]),
  hotkey("Find", "peak", "Go to the peak of allocated memory; with Shift of reserved memory", ["KeyP"], true),
  hotkey("Find", "mark", "Mark the event under the cursor, or remove its mark", ["KeyM"]),
  hotkey("Find", "search", "Search", [{ key: "/" }]),
  hotkey("Find", "clear", "Close, or clear the selection", ["Escape"]),
  hotkey("Views", "view-timeline", "Timeline", ["Digit1"]),
  hotkey("Views", "view-map", "Map", ["Digit2"]),
  hotkey("Views", "view-moment", "Moment", ["Digit3"]),
  hotkey("Views", "view-flame", "Flame", ["Digit4"]),
  hotkey("Views", "view-tables", "Tables", ["Digit5"]),
  hotkey("Views", "view-findings", "Findings", ["Digit6"]),
  hotkey("Views", "view-compare", "Compare", ["Digit7"]),
  hotkey("Views", "view-tune", "Tune", ["Digit8"]),
  hotkey("Page", "palette", "All commands", [{ code: "KeyK", mod: true }]),
  hotkey("Page", "inspect", "Show or hide the details", ["KeyI"]),
  hotkey("Page", "copy-link", "Copy a link to what is shown", ["KeyL"]),
  hotkey("Page", "copy-command", "Copy the command that prints these numbers", ["KeyC"]),
  hotkey("Page", "export-picture", "Save this view as a picture; with Shift as an SVG", ["KeyE"], true),
  hotkey("Page", "theme", "Light, dark, or as the system", ["KeyT"]),
  hotkey("Page", "help", "This help", [{ key: "?" }, "F1"]),
];

/** The parts of a KeyboardEvent that matter here. */
export interface Press {
  code: string;
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** The row that a press means, and whether Shift asks for the faster form of it. */
export function lookUp(press: Press): { hotkey: Hotkey; fast: boolean } | undefined {
  if (press.altKey) return undefined;
  const mod = press.ctrlKey || press.metaKey;
  for (const each of hotkeys) {
    const chord = each.chords.find((c) => (c.mod ?? false) === mod && matches(c, press));
    if (!chord) continue;
    const shift = press.shiftKey && chord.key === undefined;
    if (!shift || each.fast) return { hotkey: each, fast: shift };
  }
  return undefined;
}

function matches(chord: Chord, press: Press): boolean {
  return chord.key === undefined ? chord.code === press.code : chord.key === press.key;
}

const signs: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Comma: ",",
  Period: ".",
  BracketLeft: "[",
  BracketRight: "]",
  Escape: "Esc",
};

/** How a chord is called on the reader's keyboard. layout maps codes to the signs on it, where the browser tells. */
export function chordName(chord: Chord, mac = false, layout?: ReadonlyMap<string, string>): string {
  const name = chord.key ?? codeName(chord.code ?? "", layout);
  if (!chord.mod) return name;
  return mac ? `⌘${name}` : `Ctrl ${name}`;
}

function codeName(code: string, layout?: ReadonlyMap<string, string>): string {
  const printed = /^(Key|Bracket|Comma|Period)/.test(code) ? layout?.get(code) : undefined;
  if (printed) return printed.toUpperCase();
  return signs[code] ?? code.replace(/^(Key|Digit|Numpad)/, "");
}
