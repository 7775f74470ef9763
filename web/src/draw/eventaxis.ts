// The horizontal axis that timeline and map share: events, or the time at which they were.

import { eventTicks, type Tick, timeTicks } from "./axis.ts";
import { type Bounds, clamp, type Scale, type Span, scaleOf, unscale, width } from "./camera.ts";
import type { Clock } from "./clock.ts";

/** The least number of events that a view zooms into. */
export const LEAST_EVENTS = 6;

/** The narrowest window of a time axis; times are known to a microsecond. */
const LEAST_US = 4;

export class EventAxis {
  private readonly scale: Scale;

  constructor(
    /** Events shown. */
    readonly range: Span,
    readonly px: number,
    /** Null for an axis of events. */
    private readonly clock: Clock | null,
  ) {
    this.scale = scaleOf(clock ? timesOf(range, clock) : range, px);
  }

  /** Pixels from the left at which event begins. */
  x(event: number): number {
    return this.scale(this.clock ? this.clock.us(event) : event);
  }

  /** The event, with a fraction, at a pixel. */
  event(px: number): number {
    const value = unscale(this.scale, px);
    return this.clock ? this.clock.event(value) : value;
  }

  ticks(): (Tick & { readonly x: number })[] {
    const ticks = this.clock ? timeTicks(this.scale.span, this.px) : eventTicks(this.scale.span, this.px);
    return ticks.map((tick) => ({ ...tick, x: this.scale(tick.value) }));
  }
}

/** The times of a range, never of no width: events may share a microsecond. */
function timesOf(range: Span, clock: Clock): Span {
  const from = clock.us(range.from);
  return { from, to: Math.max(from + LEAST_US, clock.us(range.to)) };
}

/** A change of the window in the axis's own units, of which the result is in events again. */
export function moved(
  range: Span,
  events: number,
  clock: Clock | null,
  change: (span: Span, bounds: Bounds) => Span,
): Span {
  const bounds = { from: 0, to: Math.max(1, events), least: LEAST_EVENTS };
  if (!clock) return change(range, bounds);
  const whole = timesOf(bounds, clock);
  const times = change(timesOf(range, clock), { ...whole, least: LEAST_US });
  const back = { from: clock.event(times.from), to: clock.event(times.to) };
  return width(back) < LEAST_EVENTS ? clamp(back, bounds) : back;
}
