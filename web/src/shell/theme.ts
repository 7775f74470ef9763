// Keeps the document and the app's theme in step with the reader's choice and the system's wish.

import { effect, type Signal } from "@preact/signals";
import type { Theme } from "../state/viewer.ts";
import type { ThemeChoice } from "./settings.ts";

export function followTheme(choice: Signal<ThemeChoice>, theme: Signal<Theme>): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const wanted = choice.peek();
    const now = wanted === "system" ? (dark.matches ? "dark" : "light") : wanted;
    document.documentElement.dataset.theme = now; // before anything is painted in the new colours
    theme.value = now;
  };
  dark.addEventListener("change", apply);
  effect(() => {
    choice.value;
    apply();
  });
}

const order: readonly ThemeChoice[] = ["system", "light", "dark"];

export function nextTheme(choice: ThemeChoice): ThemeChoice {
  return order[(order.indexOf(choice) + 1) % order.length] ?? "system";
}
