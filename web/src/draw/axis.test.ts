import { describe, expect, test } from "vitest";
import { byteTicks, clockStep, decimalStep, eventTicks, timeTicks } from "./axis.ts";

const KiB = 1024;
const MiB = KiB * 1024;
const GiB = MiB * 1024;

const labels = (ticks: readonly { label: string }[]) => ticks.map(({ label }) => label);

describe("ticks of bytes are binary", () => {
  test.each([
    [{ from: 0, to: 16 * GiB }, 200, ["0", "4 GiB", "8 GiB", "12 GiB", "16 GiB"]],
    [{ from: 0, to: 2 * GiB }, 180, ["0", "512 MiB", "1.0 GiB", "1.5 GiB", "2.0 GiB"]],
    [{ from: 4 * GiB, to: 5 * GiB }, 180, ["4.00 GiB", "4.25 GiB", "4.50 GiB", "4.75 GiB", "5.00 GiB"]],
    [{ from: GiB, to: GiB + 256 * MiB }, 180, ["1024 MiB", "1088 MiB", "1152 MiB", "1216 MiB", "1280 MiB"]],
    [{ from: 0, to: 100 }, 120, ["0", "64 B"]],
    [{ from: 0, to: 17 * GiB }, 35, ["0", "16 GiB"]],
    [{ from: 0, to: 31 * GiB }, 35, ["0", "16 GiB"]],
    [{ from: 10.2 * GiB, to: 10.9 * GiB }, 60, ["10.25 GiB", "10.50 GiB", "10.75 GiB"]],
    [{ from: 0, to: 31 * GiB }, 20, ["0"]],
  ])("%j over %d pixels", (span, px, want) => expect(labels(byteTicks(span, px))).toEqual(want));

  test("labels are never closer than 40 pixels, and no two are the same", () => {
    for (let to = 1000; to < 2 ** 43; to *= 1.7) {
      const ticks = byteTicks({ from: to / 3, to }, 500);
      expect(new Set(labels(ticks)).size).toBe(ticks.length);
      const px = (value: number) => ((value - to / 3) / (to - to / 3)) * 500;
      for (let i = 1; i < ticks.length; i++)
        expect(px(ticks[i]!.value) - px(ticks[i - 1]!.value)).toBeGreaterThanOrEqual(39.9);
    }
  });
});

describe("ticks of events", () => {
  test("are 1, 2 or 5 times a power of ten", () => {
    expect(labels(eventTicks({ from: 0, to: 52_416 }, 540))).toEqual([
      "e0",
      "e10,000",
      "e20,000",
      "e30,000",
      "e40,000",
      "e50,000",
    ]);
  });
  test("are whole where less than an event lies between them", () => {
    expect(labels(eventTicks({ from: 6.2, to: 9.9 }, 1000))).toEqual(["e7", "e8", "e9"]);
  });
  test.each([
    [0.1, 1],
    [3, 5],
    [5, 5],
    [5.1, 10],
    [1200, 2000],
  ])("a step of at least %d is %d", (atLeast, want) => expect(decimalStep(atLeast)).toBe(want));
});

describe("ticks of time", () => {
  test.each([
    [{ from: 0, to: 7.35e6 }, 720, ["0", "1 s", "2 s", "3 s", "4 s", "5 s", "6 s", "7 s"]],
    [{ from: 3.61e6, to: 3.66e6 }, 450, ["3.61 s", "3.62 s", "3.63 s", "3.64 s", "3.65 s", "3.66 s"]],
    [{ from: 0, to: 400 }, 400, ["0", "100 µs", "200 µs", "300 µs", "400 µs"]],
    [{ from: 0, to: 300e6 }, 500, ["0", "1:00 min", "2:00 min", "3:00 min", "4:00 min", "5:00 min"]],
    [{ from: 3600e6, to: 7200e6 }, 200, ["1:00:00 h", "1:30:00 h", "2:00:00 h"]],
  ])("%j over %d pixels", (span, px, want) => expect(labels(timeTicks(span, px))).toEqual(want));

  test("days step by days", () => {
    expect(clockStep(30 * 3600e6)).toBe(2 * 86400e6);
  });
});
