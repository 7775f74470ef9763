// Where an event lies in the program's steps.

import { lastAtMost } from "../draw/clock.ts";
import type { Device } from "../source/api.ts";

/** The step that an event belongs to, from 0; null before the first, after the last, or where none are known. */
export function stepOf(info: Device, event: number): number | null {
  const { bounds, count } = info.steps;
  const step = lastAtMost(bounds, event);
  return step >= 0 && step < count ? step : null;
}
