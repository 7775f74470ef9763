// What can be done in the page, for the palette: each key of the table, and what has no key.

import type { App } from "../state/app.ts";
import { type Action, chordName, hotkeys } from "../state/keys.ts";
import { jump } from "../state/navigate.ts";

export interface Command {
  name: string;
  keys: string;
  run: () => void;
}

export function commandsOf(app: App, mac: boolean): Command[] {
  return [...keyCommands(app, mac), ...jumpCommands(app), ...deviceCommands(app)];
}

function keyCommands(app: App, mac: boolean): Command[] {
  return hotkeys
    .filter(({ action }) => action !== "palette" && action !== "clear" && app.can(action))
    .map(({ action, chords, help }) => ({
      name: action.startsWith("view-") ? `Show ${help}` : (help.split(";")[0] ?? help),
      keys: [...new Set(chords.map((chord) => chordName(chord, mac)))].join(" or "),
      run: () => app.act(action as Action),
    }));
}

const jumps: readonly (readonly [of: string, words: string])[] = [
  ["oom", "out-of-memory error"],
  ["retry", "retry that gave cached memory back"],
  ["segment", "segment event"],
  ["alloc", "allocation"],
  ["free", "free"],
  ["step", "step"],
];

function jumpCommands(app: App): Command[] {
  if (!app.device.peek()) return [];
  return jumps.flatMap(([of, words]) => [
    { name: `Next ${words}`, keys: "", run: () => void jump(app, "next", { of }) },
    { name: `Previous ${words}`, keys: "", run: () => void jump(app, "prev", { of }) },
  ]);
}

function deviceCommands(app: App): Command[] {
  return app.choices.peek().map((choice) => ({
    name: `Show ${choice.recording.rank === null ? "" : `rank ${choice.recording.rank} `}device ${choice.summary.device} of ${choice.recording.file}`,
    keys: "",
    run: () => app.choose(choice.ref),
  }));
}

/** Commands whose names hold every word of what was typed. */
export function matching(commands: readonly Command[], typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}
