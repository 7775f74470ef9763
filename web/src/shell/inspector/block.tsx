// A block: its sizes, its life, who allocated it and who holds it.

import type { ComponentChildren } from "preact";
import { useAnswer, useApp } from "../../state/hooks.ts";
import { jump } from "../../state/navigate.ts";
import type { BlockDetail } from "../../state/types.ts";
import { formatBytes, formatCount, formatDuration } from "../../units/units.ts";
import { Button, Fact, Failure, Loading } from "../ui.tsx";
import { EventLink } from "./event.tsx";
import { Frames } from "./frames.tsx";

export function BlockDetails({ block }: { block: number }) {
  const app = useApp();
  const { value, error } = useAnswer<BlockDetail>(app.path(`block/${block}`));
  if (error) return <Failure what="The block" error={error} />;
  if (!value) return <Loading what="Reading the block" />;
  const segment = value.segment_address;
  return (
    <>
      <dl class="facts">
        <Sizes block={value} />
        <Life block={value} />
        <Origin block={value} />
      </dl>
      <div class="buttons">
        <Button label="Previous event of this block ([)" onClick={() => void jump(app, "prev")}>
          [ before
        </Button>
        <Button label="Next event of this block (])" onClick={() => void jump(app, "next")}>
          after ]
        </Button>
        <Button onClick={() => (app.selection.value = { kind: "site", site: value.site_id })}>
          its site
        </Button>
        {segment !== null && (
          <Button onClick={() => (app.selection.value = { kind: "segment", address: segment })}>
            its segment
          </Button>
        )}
      </div>
      <HeldBy holders={value.held_by} />
      <Frames frames={value.frames} />
    </>
  );
}

function Sizes({ block }: { block: BlockDetail }) {
  const rounding = block.size_bytes - block.requested_bytes;
  return (
    <>
      <Fact name="size">
        {formatBytes(block.size_bytes)}
        {block.size_bytes >= 1024 && <span class="quiet"> {formatCount(block.size_bytes)} B</span>}
      </Fact>
      <Fact name="requested">
        {formatBytes(block.requested_bytes)}
        {rounding > 0 && <span class="quiet"> {formatBytes(rounding)} of rounding</span>}
      </Fact>
      <Fact name="address">
        <code>{block.address}</code>
      </Fact>
      <Fact name="stream">{block.stream}</Fact>
    </>
  );
}

function Life({ block }: { block: BlockDetail }) {
  return (
    <>
      <Fact name="allocated">
        <Moment event={block.alloc_event} none="before the first event" />
      </Fact>
      <Fact name="freed">
        <Moment event={block.free_requested_event} none="not in the recording" />
      </Fact>
      {block.free_completed_event !== block.free_requested_event && (
        <Fact name="free completed">
          <Moment event={block.free_completed_event} none="not in the recording" />
        </Fact>
      )}
      {block.life_us !== null && <Fact name="lived">{formatDuration(block.life_us)}</Fact>}
    </>
  );
}

function Moment({ event, none }: { event: number | null; none: string }): ComponentChildren {
  return event === null || event < 0 ? <span class="quiet">{none}</span> : <EventLink event={event} />;
}

function Origin({ block }: { block: BlockDetail }) {
  return (
    <>
      <Fact name="category">
        {block.category}{" "}
        <span class="quiet">
          {block.why}, confidence {block.confidence}
        </span>
      </Fact>
      <Fact name="site">{block.site}</Fact>
      {block.op && <Fact name="operator">{block.op}</Fact>}
      {block.module && <Fact name="module">{block.module}</Fact>}
      {block.step !== null && <Fact name="step">{block.step}</Fact>}
    </>
  );
}

function HeldBy({ holders }: { holders: readonly string[] }) {
  if (holders.length === 0) return null;
  return (
    <section>
      <h3>Held by</h3>
      <ul class="bare">
        {holders.map((holder) => (
          <li key={holder}>
            <code>{holder}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
