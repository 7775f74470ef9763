import { describe, expect, test } from "vitest";
import { pan, zoom } from "./camera.ts";
import { Clock, lastAtMost } from "./clock.ts";
import { EventAxis, moved } from "./eventaxis.ts";

test.each([
  [-1, -1],
  [0, 0],
  [3, 0],
  [5, 2],
  [99, 3],
])("the last of 0 5 5 8 that is not above %d is %d", (x, want) =>
  expect(lastAtMost([0, 5, 5, 8], x)).toBe(want),
);

describe("a clock", () => {
  const coarse = { events: [0, 100, 200], us: [0, 1000, 5000] };

  test("is straight between its points, and goes on to the end of the last event", () => {
    const clock = new Clock(coarse, 201);
    expect(clock.us(50)).toBe(500);
    expect(clock.us(150)).toBe(3000);
    expect(clock.us(201)).toBe(5040);
    expect(clock.event(3000)).toBe(150);
    expect(clock.event(-5)).toBe(0);
    expect(clock.event(1e9)).toBe(201);
  });

  test("is finer where finer points are given, and forgets them for others", () => {
    const clock = new Clock(coarse, 201);
    clock.refine([{ events: [100, 110, 200], us: [1000, 4900, 5000] }]);
    expect(clock.us(110)).toBe(4900);
    expect(clock.event(4900)).toBe(110);
    expect(clock.us(50)).toBe(500);
    clock.refine([]);
    expect(clock.us(110)).toBe(1400);
  });

  test("of events at one time answers with a number", () => {
    const clock = new Clock({ events: [0, 1, 2], us: [7, 7, 7] }, 3);
    expect(clock.us(1.5)).toBe(7);
    expect(Number.isFinite(clock.event(7))).toBe(true);
    expect(Number.isFinite(new EventAxis({ from: 0, to: 3 }, 300, clock).x(2))).toBe(true);
  });
});

describe("an axis of time", () => {
  const clock = new Clock({ events: [0, 100, 200], us: [0, 1000, 5000] }, 201);

  test("gives events the room that their time has", () => {
    const axis = new EventAxis({ from: 0, to: 200 }, 500, clock);
    expect(axis.x(100)).toBe(100);
    expect(axis.event(100)).toBe(100);
    expect(axis.event(300)).toBe(150);
  });

  test("moves and zooms by time", () => {
    const right = moved({ from: 0, to: 100 }, 201, clock, (span, bounds) => pan(span, 1, bounds));
    expect(right).toEqual({ from: 100, to: 125 });
    const near = moved({ from: 100, to: 200 }, 201, clock, (span, bounds) => zoom(span, 2, 3000, bounds));
    expect(near).toEqual({ from: 125, to: 175 });
  });

  test("never shows less than a few events", () => {
    const near = moved({ from: 0, to: 200 }, 201, clock, (span, bounds) => zoom(span, 1e6, 500, bounds));
    expect(near.to - near.from).toBeGreaterThanOrEqual(6);
  });
});
