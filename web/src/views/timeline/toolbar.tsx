// What the timeline can be told.

import { Button, Menu, Pick, Tick } from "../../shell/ui.tsx";
import type { GroupBy } from "../../source/api.ts";
import { useApp } from "../../state/hooks.ts";
import type { Axis, OpenDevice } from "../../state/viewer.ts";
import type { SeriesName } from "./lines.ts";
import type { TimelineState } from "./state.ts";

const GROUPINGS: readonly (readonly [GroupBy, string])[] = [
  ["category", "category"],
  ["module", "module"],
  ["site", "line of code"],
  ["stream", "stream"],
];

/** Allocated memory is the top of the stack; the others are lines over it. */
const LINES: readonly (readonly [SeriesName, string])[] = [
  ["reserved", "Held from the device by the allocator, in use or not"],
  ["active", "Allocated, or freed but not yet reusable"],
  ["requested", "What the program asked for, before rounding"],
];

export function TimelineToolbar({ device, view }: { device: OpenDevice; view: TimelineState }) {
  const app = useApp();
  return (
    <div class="toolbar">
      <Menu
        label="Stack by"
        value={app.by.value}
        options={groupingsOf(device)}
        onPick={(by) => (app.by.value = by)}
      />
      {device.info.times && <AxisPick />}
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
      <span class="spring" />
      <Button label="Show what is marked or selected, then all (0)" onClick={() => app.act("fit")}>
        Fit
      </Button>
      <AsTable />
    </div>
  );
}

/** The groupings that a device has, with their names. */
export function groupingsOf({ info }: OpenDevice): readonly (readonly [GroupBy, string])[] {
  return GROUPINGS.filter(([by]) => info.groupings.some((each) => each.by === by));
}

export function AxisPick() {
  const app = useApp();
  const options: readonly (readonly [Axis, string])[] = [
    ["events", "events"],
    ["time", "time"],
  ];
  return (
    <Pick
      label="Horizontal axis"
      value={app.axis.value}
      options={options}
      onPick={(axis) => (app.axis.value = axis)}
    />
  );
}

/** The way to the same numbers in rows and columns. */
function AsTable() {
  const app = useApp();
  const show = () => {
    app.table.value = "events";
    app.view.value = "tables";
  };
  return (
    <Button label="Show the events as a table" onClick={show}>
      Table
    </Button>
  );
}
