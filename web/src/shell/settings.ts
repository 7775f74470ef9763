// What a reader sets once for this browser. A page from disk may have no storage; then it lasts as long as the page.

import { type Signal, signal } from "@preact/signals";
import type { WheelScheme } from "../state/viewer.ts";

export type ThemeChoice = "system" | "light" | "dark";

const prefix = "ullage.";

function read(name: string): string | null {
  try {
    return localStorage.getItem(prefix + name);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(prefix + name, value);
  } catch {
    // Storage is denied or full: the setting holds until the page is closed.
  }
}

/** A setting that is one of a few words. */
function stored<T extends string>(name: string, first: T, others: readonly T[]): Signal<T> {
  const saved = read(name);
  const value = signal<T>(others.find((each) => each === saved) ?? first);
  value.subscribe((now) => {
    if (now !== (read(name) ?? first)) write(name, now);
  });
  return value;
}

export interface Settings {
  theme: Signal<ThemeChoice>;
  /** "off" leaves single letters to the browser and to assistive software. */
  letters: Signal<"on" | "off">;
  wheel: Signal<WheelScheme>;
}

export function loadSettings(): Settings {
  return {
    theme: stored<ThemeChoice>("theme", "system", ["light", "dark"]),
    letters: stored<"on" | "off">("letters", "on", ["off"]),
    wheel: stored<WheelScheme>("wheel", "zoom", ["scroll"]),
  };
}
