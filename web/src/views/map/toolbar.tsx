// What the map can be told.

import type { ReadonlySignal } from "@preact/signals";
import { Button, Menu, Tick } from "../../shell/ui.tsx";
import { useApp } from "../../state/hooks.ts";
import type { OpenDevice } from "../../state/viewer.ts";
import { formatBytes, formatPlural } from "../../units/units.ts";
import { fit } from "../motion.ts";
import { AxisPick, groupingsOf } from "../timeline/toolbar.tsx";
import type { Pins } from "./pins.ts";
import type { MapState } from "./state.ts";

export function MapToolbar({
  device,
  state,
  pins,
}: {
  device: OpenDevice;
  state: MapState;
  pins: ReadonlySignal<Pins | null>;
}) {
  const app = useApp();
  const showAll = () => {
    app.vertical.value = null;
    fit(app);
  };
  const asTable = () => {
    app.table.value = "segments";
    app.view.value = "tables";
  };
  return (
    <div class="toolbar">
      <Menu
        label="Colour by"
        value={app.by.value}
        options={groupingsOf(device)}
        onPick={(by) => (app.by.value = by)}
      />
      {device.info.times && <AxisPick />}
      <Tick
        label="pins"
        title="Frame the blocks that keep half-empty segments from being returned, after the event at the cursor"
        checked={state.pins.value}
        onChange={(checked) => (state.pins.value = checked)}
      />
      {pins.value && <span class="quiet">{pinWords(pins.value)}</span>}
      <span class="spring" />
      <Button label="Show all (0)" onClick={showAll}>
        Show all
      </Button>
      <Button label="Show the segments as a table" onClick={asTable}>
        As table
      </Button>
    </div>
  );
}

function pinWords({ pins, segments, freeBytes }: Pins): string {
  if (segments === 0) return "no segment is half empty at the cursor";
  const kept = formatPlural(segments, "half-empty segment", "half-empty segments");
  return `${formatPlural(pins.length, "block keeps", "blocks keep")} ${formatBytes(freeBytes)} free in ${kept}`;
}
