import { describe, expect, test } from "vitest";
import { Clock } from "../draw/clock.ts";
import { EventAxis } from "../draw/eventaxis.ts";
import { rootLevel, tileWidth } from "./address.ts";
import { fineCover } from "./cover.ts";

const EVENTS = 1_000_000;
const root = rootLevel(EVENTS);

/** Nine of ten events in the first thousandth of the time. */
const burst = new Clock({ events: [0, 0.9 * EVENTS, EVENTS - 1], us: [0, 1e6, 1e9] }, EVENTS);

function check(axis: EventAxis): ReturnType<typeof fineCover> {
  const cover = fineCover(axis, root, EVENTS);
  expect(cover[0]!.i * tileWidth(cover[0]!.level)).toBeLessThanOrEqual(axis.range.from);
  for (let k = 1; k < cover.length; k++) {
    const { level, i } = cover[k - 1]!;
    expect(cover[k]!.i * tileWidth(cover[k]!.level)).toBe((i + 1) * tileWidth(level));
  }
  const last = cover[cover.length - 1]!;
  expect((last.i + 1) * tileWidth(last.level)).toBeGreaterThanOrEqual(axis.range.to);
  expect(cover.length).toBeLessThanOrEqual(64);
  return cover;
}

describe("tiles for an axis of time", () => {
  test("lie side by side, finer where time is slow", () => {
    const cover = check(new EventAxis({ from: 0, to: EVENTS }, 1200, burst));
    expect(cover[cover.length - 1]!.level).toBeLessThan(cover[0]!.level);
  });

  test("of a small window are few", () => {
    const cover = check(new EventAxis({ from: 700_000, to: 700_100 }, 1200, burst));
    expect(cover.length).toBeLessThan(4);
    expect(cover.every(({ level }) => level === 0)).toBe(true);
  });

  test("of even time are of one level or two", () => {
    const even = new Clock({ events: [0, EVENTS - 1], us: [0, 1e9] }, EVENTS);
    const levels = new Set(
      check(new EventAxis({ from: 0, to: EVENTS }, 1200, even)).map(({ level }) => level),
    );
    expect(levels.size).toBeLessThanOrEqual(2);
  });
});
