// What the map can be told.

import type { ReadonlySignal } from "@preact/signals";
import { Tick } from "../../shell/ui.tsx";
import type { OpenDevice } from "../../state/viewer.ts";
import { formatBytes, formatPlural } from "../../units/units.ts";
import { AxisPick, EndButtons, GroupingMenu } from "../shared/controls.tsx";
import type { Fragments } from "./pins.ts";
import type { MapState } from "./state.ts";

export function MapToolbar({
  device,
  state,
  fragments,
}: {
  device: OpenDevice;
  state: MapState;
  fragments: ReadonlySignal<Fragments | null>;
}) {
  return (
    <div class="toolbar">
      <GroupingMenu device={device} label="Colour by" />
      <AxisPick device={device} />
      <Tick
        label="free pieces"
        title="Mark what is free between blocks after the event at the cursor, and frame the blocks that keep segments which are half empty or more"
        checked={state.fragments.value}
        onChange={(checked) => (state.fragments.value = checked)}
      />
      {fragments.value && (
        <span class="quiet fragments" title={fragmentWords(fragments.value)}>
          {fragmentWords(fragments.value)}
        </span>
      )}
      <EndButtons table="segments" />
    </div>
  );
}

function fragmentWords({ holes, pins, freeBytes, largestBytes }: Fragments): string {
  if (holes.length === 0) return "nothing is free beside blocks at the cursor";
  const pieces = `${formatBytes(freeBytes)} free in ${formatPlural(holes.length, "piece", "pieces")}`;
  const kept =
    pins.length === 0
      ? ""
      : `; ${formatPlural(pins.length, "block keeps", "blocks keep")} half-empty segments`;
  return `${pieces}, the largest ${formatBytes(largestBytes)}${kept}`;
}
