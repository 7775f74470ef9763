// What timeline and map can both be told.

import { Button, Menu, Pick } from "../../shell/ui.tsx";
import type { GroupBy } from "../../source/api.ts";
import { useApp } from "../../state/hooks.ts";
import type { TableName } from "../../state/types.ts";
import type { Axis, OpenDevice } from "../../state/viewer.ts";

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
