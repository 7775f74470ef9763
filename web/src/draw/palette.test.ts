import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Grouping } from "../source/api.ts";
import { cssColour, GROUP_COLOURS, groupToken, mix, parseColour, withAlpha } from "./palette.ts";

type Triple = readonly [number, number, number];

/** Custom properties of style sheets in a theme, with names of other properties followed. */
function tokens(theme: "light" | "dark"): (name: string) => string {
  const raw = new Map<string, string>();
  for (const file of ["../shell/theme.css", "./palette.css"]) {
    const text = readFileSync(new URL(file, import.meta.url), "utf8").replace(
      /@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g,
      "",
    );
    for (const [, selector, body] of text.matchAll(/(:root[^{]*)\{([^{}]*)\}/g)) {
      if (theme === "light" && selector!.includes("dark")) continue;
      for (const [, name, value] of body!.matchAll(/(--[\w-]+):\s*([^;]+);/g)) raw.set(name!, value!.trim());
    }
  }
  const follow = (name: string): string => {
    const value = raw.get(name);
    if (value === undefined) throw new Error(`there is no ${name}`);
    const other = /^var\((--[\w-]+)\)$/.exec(value)?.[1];
    return other ? follow(other) : value;
  };
  return follow;
}

function linear(text: string): Triple {
  const colour = parseColour(text);
  const channel = (shift: number) => {
    const c = ((colour >>> shift) & 255) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return [channel(0), channel(8), channel(16)];
}

/** Contrast of WCAG 2. */
function contrast(a: string, b: string): number {
  const luminance = ([r, g, b]: Triple) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const [x, y] = [luminance(linear(a)) + 0.05, luminance(linear(b)) + 0.05];
  return Math.max(x, y) / Math.min(x, y);
}

const row = (m: Triple, c: Triple) => m[0] * c[0] + m[1] * c[1] + m[2] * c[2];

/** OKLab (Ottosson 2020). */
function oklab(c: Triple): Triple {
  const l = Math.cbrt(row([0.4122214708, 0.5363325363, 0.0514459929], c));
  const m = Math.cbrt(row([0.2119034982, 0.6806995451, 0.1073969566], c));
  const s = Math.cbrt(row([0.0883024619, 0.2817188376, 0.6299787005], c));
  const lms: Triple = [l, m, s];
  return [
    row([0.2104542553, 0.793617785, -0.0040720468], lms),
    row([1.9779984951, -2.428592205, 0.4505937099], lms),
    row([0.0259040371, 0.7827717662, -0.808675766], lms),
  ];
}

/** How colours look with and without each kind of cone (Machado, Oliveira and Fernandes 2009, severity 1). */
const eyes: Record<string, readonly [Triple, Triple, Triple]> = {
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  "no red": [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  "no green": [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  "no blue": [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function seen(text: string, eye: readonly [Triple, Triple, Triple]): Triple {
  const c = linear(text);
  const clip = (x: number) => Math.min(1, Math.max(0, x));
  return oklab([clip(row(eye[0], c)), clip(row(eye[1], c)), clip(row(eye[2], c))]);
}

describe.each(["light", "dark"] as const)("in the %s theme", (theme) => {
  const token = tokens(theme);
  const colours = Array.from({ length: GROUP_COLOURS }, (_, i) => token(`--group-${i}`));

  test("every group stands out from the surface by 3 : 1", () => {
    for (const colour of [...colours, token("--group-other"), token("--group-unknown")]) {
      expect(contrast(colour, token("--panel")), colour).toBeGreaterThanOrEqual(3);
    }
  });

  test.each(Object.entries(eyes))("any two groups differ for eyes with cones: %s", (_, eye) => {
    for (const [i, a] of colours.entries()) {
      for (const b of colours.slice(i + 1)) {
        const [x, y] = [seen(a, eye), seen(b, eye)];
        expect(Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]), `${a} ${b}`).toBeGreaterThanOrEqual(0.05);
      }
    }
  });
});

describe("groups take colours", () => {
  const grouping = (by: Grouping["by"], names: string[]): Grouping => ({
    by,
    groups: names.map((name, id) => ({ id: id * 10, name, bytes: 1, event: 0 })),
    others: 0,
  });

  test("by place, the rest one of their own", () => {
    const many = grouping(
      "site",
      Array.from({ length: 20 }, (_, i) => `a.py:${i}`),
    );
    expect(groupToken(many, 30)).toBe("--group-3");
    expect(groupToken(many, 170)).toBe("--group-other");
    expect(groupToken(many, 0xffffffff)).toBe("--group-other");
    expect(groupToken(undefined, 0)).toBe("--group-other");
  });

  test("categories keep theirs wherever they stand", () => {
    expect(groupToken(grouping("category", ["activations", "parameters"]), 10)).toBe("--group-0");
    expect(groupToken(grouping("category", ["parameters", "activations"]), 0)).toBe("--group-0");
    expect(groupToken(grouping("category", ["unknown"]), 0)).toBe("--group-unknown");
    expect(groupToken(grouping("category", ["other"]), 0)).toBe("--group-other");
  });
});

test("colours are read, mixed and written", () => {
  expect(parseColour("rgb(1, 2, 3)")).toBe(0xff030201);
  expect(parseColour("#010203")).toBe(0xff030201);
  expect(() => parseColour("red")).toThrow("red");
  expect(withAlpha(0xff030201, 0.5)).toBe(0x80030201);
  expect(mix(0xff000000, 0xff0000c8, 0.5)).toBe(0xff000064);
  expect(cssColour(0x80030201)).toMatch(/^rgb\(1 2 3 \/ 0\.50/);
});
