// The range of events that was marked: how memory changed over it, and what was allocated in it.

import { useEffect } from "preact/hooks";
import type { Totals } from "../../source/api.ts";
import { useAnswer, useApp } from "../../state/hooks.ts";
import { question } from "../../state/question.ts";
import { eventsIn } from "../../state/time.ts";
import type { EventDetail, TableAnswer } from "../../state/types.ts";
import type { Range } from "../../state/viewer.ts";
import { formatBytes, formatBytesDelta, formatCount, formatPlural } from "../../units/units.ts";
import { usePaced } from "../cursor.ts";
import { Button, Fact } from "../ui.tsx";

/** While the range is being dragged, nothing is asked. */
const pauseMilliseconds = 150;

/** Totals after an event; null while they are asked for. */
function useTotals(event: number): Totals | null {
  const app = useApp();
  const { value, loading } = useAnswer<EventDetail>(event < 0 ? null : app.path(`event/${event}`));
  if (event < 0) return app.device.value?.info.start ?? null;
  return loading ? null : (value?.totals ?? null);
}

export function RangeDetails({ range }: { range: Range }) {
  const app = useApp();
  const settled = usePaced(range, pauseMilliseconds);
  const { first: from, last: to } = eventsIn(settled, app.device.value?.info.events ?? 1);
  const before = useTotals(from - 1);
  const after = useTotals(to);
  const made = useAnswer<TableAnswer>(
    app.path(question("table/blocks", { count: 1, range: `${from}-${to}` })),
  ).value;
  const words = before && after && made ? rangeWords(from, to, before, after, made) : "";
  useEffect(() => {
    if (words) app.say(words);
  }, [app, words]);
  return (
    <section class="marked-range">
      <div class="section-head">
        <h2>Marked range</h2>
        <Button kind="link" label="Forget the range (Esc)" onClick={() => (app.marked.value = null)}>
          clear
        </Button>
      </div>
      <dl class="facts">
        <Fact name="events">
          {formatCount(from)} to {formatCount(to)}
        </Fact>
        {before && after && <Changes before={before} after={after} />}
        {made && (
          <Fact name="allocated in it">
            {formatPlural(made.matching, "block", "blocks")}, {formatBytes(made.matching_bytes)}
          </Fact>
        )}
      </dl>
      <div class="buttons">
        <Button
          onClick={() => {
            app.flame.value = { ...app.flame.peek(), range: true, zoom: "" };
            app.act("view-flame");
          }}
        >
          by stack
        </Button>
        <Button
          onClick={() => {
            app.table.value = "blocks";
            app.live.value = false;
            app.act("view-tables");
          }}
        >
          its blocks
        </Button>
      </div>
    </section>
  );
}

function Changes({ before, after }: { before: Totals; after: Totals }) {
  return (
    <>
      <Fact name="allocated">{changeWords(before.allocated_bytes, after.allocated_bytes)}</Fact>
      <Fact name="reserved">{changeWords(before.reserved_bytes, after.reserved_bytes)}</Fact>
    </>
  );
}

function changeWords(before: number, after: number): string {
  return `${formatBytes(before)} → ${formatBytes(after)} (${formatBytesDelta(after - before)})`;
}

function rangeWords(from: number, to: number, before: Totals, after: Totals, made: TableAnswer): string {
  return (
    `events ${formatCount(from)} to ${formatCount(to)}: allocated memory changes by ` +
    `${formatBytesDelta(after.allocated_bytes - before.allocated_bytes)}, ` +
    `${formatPlural(made.matching, "block", "blocks")} of ${formatBytes(made.matching_bytes)} are allocated`
  );
}
