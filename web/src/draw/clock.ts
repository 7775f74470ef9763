// The map between events and microseconds, which a time axis is drawn by. It is known at a few
// hundred points of the whole recording, and finer where tiles of counters have come, which
// hold the time at the edge of each of their buckets.

/** Ascending events, and for each a time that is not below the one before. */
export interface Points {
  readonly events: ArrayLike<number>;
  readonly us: ArrayLike<number>;
}

/** The last index whose value is not above x; -1 if all are above. */
export function lastAtMost(values: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Straight lines between points, going on beyond the ends as between the last two. */
function interpolate(xs: ArrayLike<number>, ys: ArrayLike<number>, x: number): number {
  const i = Math.min(xs.length - 2, Math.max(0, lastAtMost(xs, x)));
  const x0 = xs[i]!;
  const x1 = xs[i + 1]!;
  return x1 === x0 ? ys[i]! : ys[i]! + ((x - x0) / (x1 - x0)) * (ys[i + 1]! - ys[i]!);
}

export class Clock {
  private fine: { from: number; to: number; points: Points }[] = [];

  constructor(
    private readonly coarse: Points,
    /** Number of events: the map ends at the end of the last. */
    private readonly events: number,
  ) {}

  /** Takes finer points for the ranges that they span, in place of those given before. */
  refine(points: readonly Points[]): void {
    this.fine = points
      .filter((each) => each.events.length >= 2)
      .map((each) => ({ from: each.events[0]!, to: each.events[each.events.length - 1]!, points: each }));
  }

  /** Microseconds since the first event at which event begins; fractions lie between. */
  us(event: number): number {
    const x = Math.min(this.events, Math.max(0, event));
    const points = this.fine.find((each) => x >= each.from && x <= each.to)?.points ?? this.coarse;
    return interpolate(points.events, points.us, x);
  }

  /** The event during which a time falls, with a fraction. */
  event(us: number): number {
    const finer = this.fine.find(
      ({ points }) => us >= points.us[0]! && us < points.us[points.us.length - 1]!,
    );
    const { events, us: times } = finer?.points ?? this.coarse;
    return Math.min(this.events, Math.max(0, interpolate(times, events, us)));
  }
}
