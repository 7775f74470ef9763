// What timeline and map can both be told.

import { Blank, Button, Menu, Pick } from "../../shell/ui.tsx";
import type { GroupBy } from "../../source/api.ts";
import { useApp } from "../../state/hooks.ts";
import type { TableName } from "../../state/types.ts";
import type { Axis, OpenDevice } from "../../state/viewer.ts";
import { deviceTiles } from "../../tiles/shared.ts";

const GROUPINGS: readonly (readonly [GroupBy, string])[] = [
  ["category", "category"],
  ["module", "module"],
  ["site", "line of code"],
  ["stream", "stream"],
];

/** By what groups are told apart. */
export function GroupingMenu({ device, label }: { device: OpenDevice; label: string }) {
  const app = useApp();
  const there = GROUPINGS.filter(([by]) => device.info.groupings.some((each) => each.by === by));
  return <Menu label={label} value={app.by.value} options={there} onPick={(by) => (app.by.value = by)} />;
}

/** Events or time, where the recording has times. */
export function AxisPick({ device }: { device: OpenDevice }) {
  const app = useApp();
  const options: readonly (readonly [Axis, string])[] = [
    ["events", "events"],
    ["time", "time"],
  ];
  if (!deviceTiles(device, app.source).clock) return null;
  return (
    <Pick
      label="Horizontal axis"
      value={app.axis.value}
      options={options}
      onPick={(axis) => (app.axis.value = axis)}
    />
  );
}

/** Shows what is marked or selected, then all; and the way to the same numbers in rows and columns. */
export function EndButtons({ table }: { table: TableName }) {
  const app = useApp();
  const showTable = () => {
    app.table.value = table;
    app.view.value = "tables";
  };
  return (
    <>
      <span class="spring" />
      <Button label="Show what is marked or selected, then all (0)" onClick={() => app.act("fit")}>
        Fit
      </Button>
      <Button label={`Show the ${table} as a table`} onClick={showTable}>
        Table
      </Button>
    </>
  );
}

/** Stands where no segment is known, and so no place for a block. */
export function NothingReserved() {
  return (
    <Blank title="This recording has no segments">
      <p>No memory was reserved from its first event to its end, so there are no addresses to show.</p>
    </Blank>
  );
}

/** Stands where a recording has no events, and so nothing to be drawn over them. */
export function NoEvents() {
  const app = useApp();
  return (
    <Blank title="This recording has no events">
      <p>It tells what was allocated when it was taken, but not how that came about.</p>
      <p>
        <Button kind="primary" onClick={() => app.act("view-moment")}>
          Show that moment
        </Button>
      </p>
    </Blank>
  );
}
