// The event under the cursor: what it did, and the call that caused it.

import type { Totals } from "../../source/api.ts";
import { useApp } from "../../state/hooks.ts";
import type { EventDetail } from "../../state/types.ts";
import { formatBytes, formatCount, formatDuration } from "../../units/units.ts";
import { useCursorEvent } from "../cursor.ts";
import { Button, Fact, Failure, Loading } from "../ui.tsx";
import { Frames } from "./frames.tsx";

/** An event's number that leads to it. */
export function EventLink({ event }: { event: number }) {
  const app = useApp();
  return (
    <Button kind="link" label={`Go to event ${formatCount(event)}`} onClick={() => app.goTo(event)}>
      event {formatCount(event)}
    </Button>
  );
}

export function EventDetails() {
  const { detail, totals, error } = useCursorEvent();
  if (error) return <Failure what="The event" error={error} />;
  if (!totals) return <Loading what="Reading the event" />;
  return (
    <>
      {detail && <What detail={detail} />}
      <h3>{detail ? "After it" : "Before the first event"}</h3>
      <TotalFacts totals={totals} />
      {detail && <Frames frames={detail.frames} />}
    </>
  );
}

function What({ detail }: { detail: EventDetail }) {
  const app = useApp();
  const { block, site_id } = detail;
  return (
    <>
      <dl class="facts">
        <Fact name="event">{formatCount(detail.event)}</Fact>
        <Fact name="action">{detail.action.replaceAll("_", " ")}</Fact>
        {detail.size_bytes !== null && <Fact name="size">{formatBytes(detail.size_bytes)}</Fact>}
        {detail.address !== null && (
          <Fact name="address">
            <code>{detail.address}</code>
          </Fact>
        )}
        {detail.time_us !== null && <Fact name="time">{formatDuration(detail.time_us)}</Fact>}
        {detail.step !== null && <Fact name="step">{detail.step}</Fact>}
        {detail.stream !== null && <Fact name="stream">{detail.stream}</Fact>}
        {detail.category && <Fact name="category">{detail.category}</Fact>}
        {detail.module && <Fact name="module">{detail.module}</Fact>}
        {detail.site && <Fact name="site">{detail.site}</Fact>}
      </dl>
      <div class="buttons">
        {block !== null && (
          <Button onClick={() => (app.selection.value = { kind: "block", block })}>select its block</Button>
        )}
        {site_id !== null && (
          <Button onClick={() => (app.selection.value = { kind: "site", site: site_id })}>
            select its site
          </Button>
        )}
      </div>
    </>
  );
}

function TotalFacts({ totals }: { totals: Totals }) {
  return (
    <dl class="facts">
      <Fact name="requested">{formatBytes(totals.requested_bytes)}</Fact>
      <Fact name="allocated">{formatBytes(totals.allocated_bytes)}</Fact>
      <Fact name="active">{formatBytes(totals.active_bytes)}</Fact>
      <Fact name="reserved">{formatBytes(totals.reserved_bytes)}</Fact>
    </dl>
  );
}
