// The panel beside a view: what is selected, or else the event under the cursor.

import { useApp } from "../state/hooks.ts";
import type { Selection } from "../state/viewer.ts";
import { BlockDetails } from "./inspector/block.tsx";
import { EventDetails } from "./inspector/event.tsx";
import { GroupDetails } from "./inspector/group.tsx";
import { RangeDetails } from "./inspector/range.tsx";
import { SegmentDetails, SiteDetails } from "./inspector/row.tsx";
import { Button } from "./ui.tsx";

export function Inspector() {
  const app = useApp();
  const selection = app.selection.value;
  return (
    <aside class="inspector" aria-label="Details">
      {app.marked.value && <RangeDetails range={app.marked.value} />}
      <div class="inspector-head">
        <h2>{titleOf(selection)}</h2>
        {selection && (
          <Button kind="link" label="Clear the selection (Esc)" onClick={() => (app.selection.value = null)}>
            clear
          </Button>
        )}
        <Button kind="link" label="Hide the details (I)" onClick={() => app.act("inspect")}>
          ×
        </Button>
      </div>
      <Body selection={selection} />
    </aside>
  );
}

function titleOf(selection: Selection | null): string {
  return selection === null ? "Event under the cursor" : titles[selection.kind];
}

const titles: Record<Selection["kind"], string> = {
  block: "Block",
  site: "Allocation site",
  segment: "Segment",
  group: "Group",
};

function Body({ selection }: { selection: Selection | null }) {
  switch (selection?.kind) {
    case undefined:
      return <EventDetails />;
    case "block":
      return <BlockDetails block={selection.block} />;
    case "site":
      return <SiteDetails site={selection.site} />;
    case "segment":
      return <SegmentDetails address={selection.address} />;
    case "group":
      return <GroupDetails by={selection.by} group={selection.group} />;
  }
}
