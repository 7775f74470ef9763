// Colours of the theme for drawing. A custom property may say light-dark(…), which a canvas does not understand;
// given to an element, it becomes a colour.

import { parseColour } from "../draw/palette.ts";
import { useApp } from "../state/hooks.ts";
import type { Theme } from "../state/viewer.ts";

/** An element of the page that shows nothing. */
let probe: HTMLElement | null = null;

function probeElement(): HTMLElement {
  if (!probe?.isConnected) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  return probe;
}

const known: Record<Theme, Map<string, string>> = { light: new Map(), dark: new Map() };

/** The colour of a custom property in the theme, as "#rrggbb". */
export function colourOf(name: string, theme: Theme): string {
  let colour = known[theme].get(name);
  if (colour === undefined) {
    const element = probeElement();
    element.style.color = `var(${name})`;
    colour = hex(parseColour(getComputedStyle(element).color));
    known[theme].set(name, colour);
  }
  return colour;
}

/** Of 0xAABBGGRR, without its opacity. */
function hex(colour: number): string {
  const bytes = [colour, colour >>> 8, colour >>> 16].map((shifted) =>
    (shifted & 255).toString(16).padStart(2, "0"),
  );
  return `#${bytes.join("")}`;
}

/** Colours by their names, anew whenever the theme changes. */
export function useColours(): (name: string) => string {
  const theme = useApp().theme.value;
  return (name) => colourOf(name, theme);
}
