// The bottom line: the event under the cursor, when it was, what it did, and what is allocated and reserved after it.

import type { ComponentChildren } from "preact";
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
  if (!info) return <section class="readout" aria-label="At the cursor" />;
  const event = app.cursor.value;
  const { detail, totals } = answer.event === event ? answer : { detail: null, totals: null };
  const step = stepOf(info, event);
  return (
    <section class="readout" aria-label="At the cursor">
      <Button label="Previous event (,)" onClick={() => stepBy(app, -1)}>
        ‹
      </Button>
      <Button label="Next event (.)" onClick={() => stepBy(app, 1)}>
        ›
      </Button>
      <Item name="event">
        {event < 0 ? "before the first" : `${formatCount(event)} of ${formatCount(info.events)}`}
      </Item>
      {info.times && event >= 0 && (
        <Item name="time">{typeof detail?.time_us === "number" ? formatDuration(detail.time_us) : "…"}</Item>
      )}
      {step !== null && <Item name="step">{step}</Item>}
      {detail && <Item name="action">{detail.action.replaceAll("_", " ")}</Item>}
      <Item name="allocated" wide>
        {totals ? formatBytes(totals.allocated_bytes) : "…"}
      </Item>
      <Item name="reserved" wide>
        {totals ? formatBytes(totals.reserved_bytes) : "…"}
      </Item>
      <MarkedRange />
    </section>
  );
}

interface ItemProps {
  name: string;
  /** Keeps its place while its value changes. */
  wide?: boolean;
  children: ComponentChildren;
}

function Item({ name, wide = false, children }: ItemProps) {
  return (
    <span class={wide ? "readout-item wide" : "readout-item"}>
      <span class="quiet">{name}</span> {children}
    </span>
  );
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
