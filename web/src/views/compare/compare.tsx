// Compare view: two devices on one axis, what their sites hold at their peaks, and all devices in a table.

import { eventTicks, timeTicks } from "../../draw/axis.ts";
import { Chart, type Line } from "../../paint/chart.tsx";
import { usePaced } from "../../shell/cursor.ts";
import { Blank, Failure, Loading, Tick } from "../../shell/ui.tsx";
import { choiceName } from "../../shell/words.ts";
import type { Choice } from "../../state/app.ts";
import { useAnswer, useApp } from "../../state/hooks.ts";
import { question } from "../../state/question.ts";
import type { CompareAnswer } from "../../state/types.ts";
import {
  formatBytes,
  formatBytesDelta,
  formatCount,
  formatDuration,
  formatPlural,
} from "../../units/units.ts";
import { type Counters, useCounters } from "./counters.ts";
import { DiffTable } from "./diff.tsx";
import { compareEvent, deviceKey as key, otherChoice } from "./other.ts";
import { RanksTable } from "./ranks.tsx";

export function CompareView() {
  const app = useApp();
  const chosen = app.choice.value;
  const other = chosen && otherChoice(app.choices.value, chosen.ref, app.other.value);
  if (!chosen) return null;
  if (!other)
    return (
      <Blank title="There is nothing to compare with">
        Open two recordings, or the ranks of one job: <code>ullage view BEFORE AFTER</code>
      </Blank>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <div class="stack" tabIndex={0}>
      <CompareBar chosen={chosen} other={other} />
      <Curves a={chosen} b={other} />
      <Difference a={chosen} b={other} />
      <RanksTable other={other.ref} />
    </div>
  );
}

function CompareBar({ chosen, other }: { chosen: Choice; other: Choice }) {
  const app = useApp();
  const others = app.choices.value.filter(({ ref }) => key(ref) !== key(chosen.ref));
  return (
    <div class="toolbar">
      <span>
        <strong>A</strong> {choiceName(chosen)}
      </span>
      <label class="menu">
        <strong>B</strong>
        <select
          aria-label="Compare with"
          value={key(other.ref)}
          onChange={(event) => {
            const picked = others.find(({ ref }) => key(ref) === event.currentTarget.value);
            if (picked) app.other.value = picked.ref;
          }}
        >
          {others.map((choice) => (
            <option key={key(choice.ref)} value={key(choice.ref)}>
              {choiceName(choice)}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Curves({ a, b }: { a: Choice; b: Choice }) {
  const first = useCounters(a.ref, a.summary.events);
  const second = useCounters(b.ref, b.summary.events);
  const error = first.error ?? second.error;
  if (error) return <Failure what="The curves" error={error} />;
  if (!first.counters || !second.counters) return <Loading what="Reading the curves" />;
  return <CurveChart a={first.counters} b={second.counters} />;
}

/** Both on one axis: of time where both have times, else of events. */
function CurveChart({ a, b }: { a: Counters; b: Counters }) {
  const timed = a.us !== null && b.us !== null;
  const xOf = ({ us, events }: Counters) => (timed && us ? us : events);
  const pair = (counters: Counters, name: string, color: string): Line[] => [
    { name: `${name} allocated`, color, x: xOf(counters), y: counters.allocated },
    { name: `${name} reserved`, color, x: xOf(counters), y: counters.reserved, dash: "4 3" },
  ];
  const to = Math.max(1, lastOf(xOf(a)), lastOf(xOf(b)));
  return (
    <Chart
      name="compare"
      label="Allocated and reserved memory of both. The left and right arrows move a cursor."
      lines={[...pair(a, "A", "--group-0"), ...pair(b, "B", "--group-1")]}
      from={0}
      to={to}
      ticks={timed ? timeTicks : eventTicks}
      xText={(x) => (timed ? formatDuration(x) : `event ${formatCount(Math.round(x))}`)}
    />
  );
}

function lastOf(values: ArrayLike<number>): number {
  return values[values.length - 1] ?? 0;
}

function Difference({ a: first, b: second }: { a: Choice; b: Choice }) {
  const app = useApp();
  const at = usePaced(compareEvent(app, second), 150);
  const { value, error } = useAnswer<CompareAnswer>(
    question("compare", { a: key(first.ref), at_a: at, at_b: at, b: key(second.ref) }),
  );
  if (error) return <Failure what="The difference" error={error} />;
  if (!value) return <Loading what="Comparing" />;
  const { before, after } = value.totals;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="padded" tabIndex={0} aria-label="Difference">
      <div class="section-head">
        <h2>From A to B, {at === null ? "each at its peak" : `both at event ${formatCount(at)}`}</h2>
        <Tick
          label="at the cursor"
          title="Compare both after the same event, instead of each at its peak"
          checked={app.live.value}
          onChange={(live) => {
            app.live.value = live;
          }}
        />
      </div>
      <p>
        allocated {formatBytes(before.allocated_bytes)} → {formatBytes(after.allocated_bytes)} (
        {formatBytesDelta(after.allocated_bytes - before.allocated_bytes)}), reserved{" "}
        {formatBytes(before.reserved_bytes)} → {formatBytes(after.reserved_bytes)} (
        {formatBytesDelta(after.reserved_bytes - before.reserved_bytes)})
      </p>
      <DiffTable
        title="category"
        rows={value.categories.map(({ category, before_bytes, after_bytes }) => ({
          name: category,
          before: before_bytes,
          after: after_bytes,
          change: "",
        }))}
      />
      <DiffTable
        title="allocation site"
        rows={value.sites.map((site) => ({
          name: site.before_site ? `${site.site} (before: ${site.before_site})` : site.site,
          before: site.before_bytes,
          after: site.after_bytes,
          change: site.change,
        }))}
        query={app.query.value}
      />
      {value.same > 0 && (
        <p class="quiet">{formatPlural(value.same, "site holds", "sites hold")} as much in both.</p>
      )}
      {value.settings.map(({ name, before: a, after: b }) => (
        <p key={name}>
          The allocator's <code>{name}</code> is {a} in A and {b} in B.
        </p>
      ))}
    </section>
  );
}
