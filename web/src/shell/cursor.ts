// The event under the cursor, asked for once the cursor rests.

import { useEffect, useState } from "preact/hooks";
import type { Totals } from "../source/api.ts";
import { useAnswer, useApp } from "../state/hooks.ts";
import type { EventDetail } from "../state/types.ts";

/** While the cursor moves, totals are asked for at most so often. */
const pauseMilliseconds = 60;

export function useSettled<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/** The event under the cursor, whole: a row of the table of events with its stack and the totals after it. */
export function useCursorEvent(): { detail: EventDetail | null; totals: Totals | null; error: Error | null } {
  const app = useApp();
  const info = app.device.value?.info;
  const event = useSettled(app.cursor.value, pauseMilliseconds);
  const { value, error, loading } = useAnswer<EventDetail>(event < 0 ? null : app.path(`event/${event}`));
  if (event < 0) return { detail: null, totals: info?.start ?? null, error: null };
  const current = value && !loading && !error ? value : null;
  return { detail: current, totals: current?.totals ?? null, error };
}
