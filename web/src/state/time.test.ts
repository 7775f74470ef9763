import { expect, test } from "vitest";
import type { Device } from "../source/api.ts";
import { eventsIn, stepOf } from "./time.ts";

test("events of a range, which lie from their own number to the next", () => {
  expect(eventsIn({ from: 10, to: 20 }, 100)).toEqual({ first: 10, last: 19 });
  expect(eventsIn({ from: 10.5, to: 20.1 }, 100)).toEqual({ first: 10, last: 20 });
  expect(eventsIn({ from: -5, to: 500 }, 100)).toEqual({ first: 0, last: 99 });
  expect(eventsIn({ from: 7, to: 7 }, 100)).toEqual({ first: 7, last: 7 });
});

test("steps begin with their bound and end before the next", () => {
  const info = { steps: { count: 2, name: "", source: "", bounds: [10, 20, 30] } } as unknown as Device;
  expect([9, 10, 19, 20, 29, 30].map((event) => stepOf(info, event))).toEqual([null, 0, 0, 1, 1, null]);
});
