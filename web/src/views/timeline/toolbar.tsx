// What the timeline can be told.

import { Tick } from "../../shell/ui.tsx";
import type { OpenDevice, SeriesName } from "../../state/viewer.ts";
import { AxisPick, EndButtons, GroupingMenu } from "../shared/controls.tsx";
import type { TimelineState } from "./state.ts";

/** Allocated memory is the top of the stack; the others are lines over it. */
const LINES: readonly (readonly [SeriesName, string])[] = [
  ["reserved", "Held from the device by the allocator, in use or not"],
  ["active", "Allocated, or freed but not yet reusable"],
  ["requested", "What the program asked for, before rounding"],
];

export function TimelineToolbar({ device, view }: { device: OpenDevice; view: TimelineState }) {
  return (
    <div class="toolbar">
      <GroupingMenu device={device} label="Stack by" />
      <AxisPick device={device} />
      <span class="lines">
        {LINES.map(([name, title]) => (
          <Tick
            key={name}
            label={name}
            title={title}
            checked={view.lines.value.includes(name)}
            onChange={() => view.toggleLine(name)}
          />
        ))}
      </span>
      <Tick
        label="blocks"
        title="Draw each block by itself once the window is small enough"
        checked={view.blocks.value}
        onChange={(checked) => (view.blocks.value = checked)}
      />
      {view.tooMany.value && <span class="quiet toolbar-note">(zoom in)</span>}
      <Tick
        label="fit height"
        title="Scale to the largest amount in the window"
        checked={view.bytes.value === "window"}
        onChange={(checked) => (view.bytes.value = checked ? "window" : null)}
      />
      <EndButtons table="events" />
    </div>
  );
}
