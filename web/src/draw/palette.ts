// Which colour a group has, and the colours of the theme in use as numbers for drawing. The
// values are custom properties, in palette.css and in the shell's theme; this file only names them.

import type { Grouping } from "../source/api.ts";

/** 0xAABBGGRR: the bytes of a pixel in order, read as a little-endian number. */
export type Colour = number;

/** Colours that are told apart; groups beyond share that of "other". */
export const GROUP_COLOURS = 16;

/** Categories keep their colour in every recording. */
const CATEGORIES: Readonly<Record<string, number>> = {
  parameters: 0,
  activations: 1,
  "optimizer state": 2,
  gradients: 3,
  workspaces: 7,
  inputs: 5,
  "KV cache": 6,
  "graph pools": 4,
};

/** The custom property of a group's colour: "--group-3". id is the group's in the grouping. */
export function groupToken(grouping: Grouping | undefined, id: number): string {
  const place = grouping?.groups.findIndex((group) => group.id === id) ?? -1;
  if (!grouping || place < 0) return "--group-other";
  if (grouping.by !== "category") return place < GROUP_COLOURS ? `--group-${place}` : "--group-other";
  const name = grouping.groups[place]!.name;
  if (name === "unknown") return "--group-unknown";
  return name in CATEGORIES ? `--group-${CATEGORIES[name]}` : "--group-other";
}

/** A group's colour for style sheets: "var(--group-3)". */
export function groupColor(grouping: Grouping | undefined, id: number): string {
  return `var(${groupToken(grouping, id)})`;
}

/** "rgb(1, 2, 3)" or "#rrggbb" as a colour, opaque. */
export function parseColour(text: string): Colour {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text.trim());
  const rgb = /^rgba?\((\d+)[, ]+(\d+)[, ]+(\d+)/.exec(text.trim());
  const parts = hex?.slice(1).map((part) => Number.parseInt(part, 16)) ?? rgb?.slice(1).map(Number);
  if (!parts) throw new Error(`"${text}" is no colour: want rgb(r, g, b) or #rrggbb`);
  const [r, g, b] = parts as [number, number, number];
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

/** The colour with an opacity of 0 to 1. */
export function withAlpha(colour: Colour, alpha: number): Colour {
  return ((colour & 0xffffff) | (Math.round(alpha * 255) << 24)) >>> 0;
}

/** a and b mixed, with share of b. */
export function mix(a: Colour, b: Colour, share: number): Colour {
  const channel = (shift: number) => {
    const from = (a >>> shift) & 255;
    return Math.round(from + (((b >>> shift) & 255) - from) * share) << shift;
  };
  return (channel(0) | channel(8) | channel(16) | channel(24)) >>> 0;
}

/** The colour for a style sheet or a canvas. */
export function cssColour(colour: Colour): string {
  return `rgb(${colour & 255} ${(colour >> 8) & 255} ${(colour >> 16) & 255} / ${(colour >>> 24) / 255})`;
}

/** The colours that drawing takes from the theme, as they are at the moment of its making. */
export class Theme {
  private readonly known = new Map<string, Colour>();

  /** probe is an element of the page that shows nothing: a custom property is resolved by giving it to an element. */
  constructor(private readonly probe: HTMLElement) {}

  /** The colour of a custom property. */
  colour(token: string): Colour {
    let colour = this.known.get(token);
    if (colour === undefined) {
      this.probe.style.color = `var(${token})`;
      colour = parseColour(getComputedStyle(this.probe).color);
      this.known.set(token, colour);
    }
    return colour;
  }

  /** The same for a style sheet, with an opacity of 0 to 1. */
  css(token: string, alpha = 1): string {
    return cssColour(withAlpha(this.colour(token), alpha));
  }

  /** Colours of a grouping by the number of a group, that of "other" for every other number. */
  groups(grouping: Grouping | undefined): (id: number) => Colour {
    const table = new Map(grouping?.groups.map(({ id }) => [id, this.colour(groupToken(grouping, id))]));
    const other = this.colour("--group-other");
    return (id) => table.get(id) ?? other;
  }
}
