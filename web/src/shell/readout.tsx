// The bottom line: the event under the cursor, when it was, what it did, and what is allocated and reserved after it.

import { Clock } from "../draw/clock.ts";
import type { Device } from "../source/api.ts";
import { useApp } from "../state/hooks.ts";
import { stepBy } from "../state/navigate.ts";
import { stepOf } from "../state/time.ts";
import { formatBytes, formatCount, formatDuration } from "../units/units.ts";
import { useCursorEvent } from "./cursor.ts";
import { Button } from "./ui.tsx";

export function Readout() {
  const app = useApp();
  const info = app.device.value?.info;
  const answer = useCursorEvent();
  if (!info) return <footer class="readout" />;
  const event = app.cursor.value;
  const { detail, totals } = answer.event === event ? answer : { detail: null, totals: null };
  const step = stepOf(info, event);
  return (
    <footer class="readout" aria-label="At the cursor">
      <Button label="Previous event (,)" onClick={() => stepBy(app, -1)}>
        ‹
      </Button>
      <Button label="Next event (.)" onClick={() => stepBy(app, 1)}>
        ›
      </Button>
      <Item name="event">
        {event < 0 ? "before the first" : `${formatCount(event)} of ${formatCount(info.events)}`}
      </Item>
      {info.times && event >= 0 && <Item name="time">{timeOf(info, event)}</Item>}
      {step !== null && <Item name="step">{step}</Item>}
      {detail && <Item name="action">{detail.action.replaceAll("_", " ")}</Item>}
      <Item name="allocated">{totals ? formatBytes(totals.allocated_bytes) : "…"}</Item>
      <Item name="reserved">{totals ? formatBytes(totals.reserved_bytes) : "…"}</Item>
      <MarkedRange />
    </footer>
  );
}

function Item({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <span class="readout-item">
      <span class="quiet">{name}</span> {children}
    </span>
  );
}

function timeOf(info: Device, event: number): string {
  return info.times ? formatDuration(Math.round(new Clock(info.times, info.events).us(event))) : "";
}

function MarkedRange() {
  const app = useApp();
  const marked = app.markedEvents();
  if (!marked) return null;
  return (
    <span class="readout-item range">
      <span class="quiet">range</span> {formatCount(marked.first)} – {formatCount(marked.last)}{" "}
      <Button kind="link" label="Forget the range" onClick={() => (app.marked.value = null)}>
        ×
      </Button>
    </span>
  );
}
