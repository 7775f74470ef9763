// The event under the cursor, asked for as the cursor moves, but not for every event that it passes.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Totals } from "../source/api.ts";
import { useAnswer, useApp } from "../state/hooks.ts";
import type { EventDetail } from "../state/types.ts";

/** While the cursor runs, it is asked for at most so often. */
const pauseMilliseconds = 60;

/** Follows a value at most so often: at once after a rest, and in the end to its last. */
export function usePaced<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const follow = () => {
      last.current = performance.now();
      setSettled(value);
    };
    const wait = last.current + milliseconds - performance.now();
    if (wait <= 0) {
      follow();
      return undefined;
    }
    const timer = setTimeout(follow, wait);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

export interface CursorEvent {
  /** What the rest is about: until the next answer comes, the event that the cursor was on. */
  event: number;
  /** Null before the first event. */
  detail: EventDetail | null;
  totals: Totals | null;
  error: Error | null;
}

/** The event under the cursor, whole: a row of the table of events with its stack and the totals after it. */
export function useCursorEvent(): CursorEvent {
  const app = useApp();
  const start = app.device.value?.info.start ?? null;
  const event = app.cursor.value;
  // The whole path is paced: an event that lags behind the device may not be in it.
  const path = usePaced(event < 0 ? null : app.path(`event/${event}`), pauseMilliseconds);
  const { value, error } = useAnswer<EventDetail>(path);
  if (event < 0) return { event: -1, detail: null, totals: start, error: null };
  return { event: value?.event ?? event, detail: value, totals: value?.totals ?? null, error };
}
