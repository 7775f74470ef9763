// Where events lie: in a range, in the program's steps.

import { lastAtMost } from "../draw/clock.ts";
import type { Device } from "../source/api.ts";
import type { Range } from "./viewer.ts";

/** The first and the last event that lie in a range, if only in part: event e lies from e to e+1. */
export function eventsIn({ from, to }: Range, events: number): { first: number; last: number } {
  const first = Math.max(0, Math.min(events - 1, Math.floor(from)));
  return { first, last: Math.max(first, Math.min(events, Math.ceil(to)) - 1) };
}

/** The step that an event belongs to, from 0; null before the first, after the last, or where none are known. */
export function stepOf(info: Device, event: number): number | null {
  const { bounds, count } = info.steps;
  const step = lastAtMost(bounds, event);
  return step >= 0 && step < count ? step : null;
}
