// The map: which addresses were held when, so that fragmentation is seen.

import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Float } from "../../draw/float.tsx";
import { type Painter, Stage } from "../../draw/stage.tsx";
import type { App } from "../../state/app.ts";
import { useActions, useAnswer, useApp } from "../../state/hooks.ts";
import { question } from "../../state/question.ts";
import type { BlockDetail, Moment } from "../../state/types.ts";
import type { OpenDevice } from "../../state/viewer.ts";
import { deviceTiles } from "../../tiles/shared.ts";
import { formatBytes, formatCount } from "../../units/units.ts";
import { NoEvents, NothingReserved } from "../shared/controls.tsx";
import { Legend } from "../shared/legend.tsx";
import { fit, keyPan, keyZoom, motionActions, shareOf } from "../shared/motion.ts";
import { usePainting } from "../shared/painting.ts";
import { middle } from "../shared/rows.ts";
import { useSelectedBlock } from "../shared/selected.ts";
import type { Hovered } from "./hover.ts";
import { type Framed, MapPicture, type MapTouches, type MapWishes } from "./picture.ts";
import { type Fragments, fragmentsOf } from "./pins.ts";
import { MapPointing } from "./pointing.ts";
import { MapState } from "./state.ts";
import { MapToolbar } from "./toolbar.tsx";
import { MapTooltip } from "./tooltip.tsx";
import "../shared/pictures.css";

export function MapView() {
  const device = useApp().device.value;
  if (device?.info.events === 0) return <NoEvents />;
  if (device?.info.height_bytes === 0) return <NothingReserved />;
  return device ? <MapOf key={`${device.ref.id}/${device.ref.dev}`} device={device} /> : null;
}

function MapOf({ device }: { device: OpenDevice }) {
  const app = useApp();
  const tiles = deviceTiles(device, app.source);
  const state = useMemo(() => new MapState(app), [app]);
  const picture = useMemo(() => new MapPicture(device.info, tiles), [device, tiles]);
  const pointing = useMemo(() => new MapPointing(app, picture, state), [app, picture, state]);
  const painter = useRef<Painter | null>(null);
  const selected = useSelectedBlock();
  const fragments = useFragments(state);

  usePainting({
    name: "map",
    ...{ tiles, painter },
    shown: [app.range, app.axis, app.by, app.vertical, app.selection],
    above: [app.cursor, app.marked, app.marks, state.pointer, selected, fragments],
  });
  useMapActions(picture, state, selected);
  return (
    <section class="map">
      <MapToolbar device={device} state={state} fragments={fragments} />
      <Legend />
      <div class="map-body">
        <div class="picture">
          <Stage
            label={labelOf(device)}
            describedBy="map-help"
            paint={(frame) => {
              picture.paint(frame, wishesOf(app));
              state.hover(picture, state.pointer.peek()); // another thing may be under it now
              return tiles.store.settled;
            }}
            touch={(frame) =>
              picture.touch(frame, wishesOf(app), touchesOf(app, picture, state, selected, fragments))
            }
            gestures={pointing}
            painter={painter}
          />
          <Float at={state.pointer}>
            <Note device={device} hovered={state.hovered} />
          </Float>
          <p id="map-help" class="heard">
            W and S zoom in time, R and V along the addresses; A and D move in time, the arrows up and down
            along the addresses. The tables of blocks and segments hold the same numbers.
          </p>
        </div>
      </div>
    </section>
  );
}

/** What keys do. */
function useMapActions(
  picture: MapPicture,
  state: MapState,
  selected: ReadonlySignal<BlockDetail | null>,
): void {
  const app = useApp();
  useActions({
    ...motionActions(app, () => shareOf(picture.layout.plot, state.pointer.peek()?.x)),
    "pan-up": ({ fast }) => state.panPlaces(picture, -keyPan(fast)),
    "pan-down": ({ fast }) => state.panPlaces(picture, keyPan(fast)),
    taller: ({ fast }) => state.zoomPlaces(picture, keyZoom(fast), heightOf(picture, state)),
    flatter: ({ fast }) => state.zoomPlaces(picture, 1 / keyZoom(fast), heightOf(picture, state)),
    fit: () => {
      fit(app, framedBlock(picture, selected.peek()));
      app.vertical.value = null;
    },
  });
}

function wishesOf(app: App): MapWishes {
  return {
    range: app.range.peek(),
    axis: app.axis.peek(),
    by: app.by.peek(),
    vertical: app.vertical.peek(),
    selection: app.selection.peek(),
  };
}

function touchesOf(
  app: App,
  picture: MapPicture,
  state: MapState,
  selected: ReadonlySignal<BlockDetail | null>,
  fragments: ReadonlySignal<Fragments | null>,
): MapTouches {
  return {
    cursor: app.cursor.peek(),
    marked: app.marked.peek(),
    marks: app.marks.peek(),
    pointer: state.hovered.peek() && state.pointer.peek(),
    selected: framedBlock(picture, selected.peek()),
    holes: fragments.peek()?.holes ?? [],
    pins: framedPins(picture, fragments.peek(), app.cursor.peek()),
  };
}

/** The pixel of the page about which keys zoom vertically: the pointer's, else the middle. */
function heightOf(picture: MapPicture, state: MapState): number {
  const { plot } = picture.layout;
  const y = state.pointer.peek()?.y ?? middle(plot);
  return y >= plot.y ? y : middle(plot);
}

function labelOf({ info }: OpenDevice): string {
  return (
    `Map of addresses over ${formatCount(info.events)} events: ${formatCount(info.lanes.length)} ranges of ` +
    `${formatBytes(info.height_bytes)} in all`
  );
}

/** Free pieces and what keeps them, after the event at the cursor; null while they are not asked for. */
function useFragments(state: MapState): ReadonlySignal<Fragments | null> {
  const app = useApp();
  const path = state.fragments.value ? app.path(question("moment", { event: app.cursor.value })) : null;
  const { value, loading } = useAnswer<Moment>(path);
  const fragments = useSignal<Fragments | null>(null);
  useEffect(() => {
    if (!loading) fragments.value = path !== null && value ? fragmentsOf(value) : null;
  }, [fragments, path, value, loading]);
  return fragments;
}

function framedBlock(picture: MapPicture, block: BlockDetail | null): Framed | null {
  const place = block && picture.lanes.place(block.address);
  if (!block || place === null) return null;
  const to = block.free_completed_event ?? picture.info.events;
  return { from: Math.max(0, block.alloc_event), to, place, size: block.size_bytes };
}

/** Pins with the life that their rectangle has, else around the moment at which they were found. */
function framedPins(picture: MapPicture, fragments: Fragments | null, event: number): Framed[] {
  if (!fragments) return [];
  const lives = new Map<number, { from: number; to: number }>();
  for (const { tile } of picture.blocks) {
    for (let r = 0; r < tile.count; r++) lives.set(tile.id[r]!, { from: tile.start[r]!, to: tile.end[r]! });
  }
  return fragments.pins.map(({ block, place, size }) => ({
    ...(lives.get(block) ?? { from: event, to: event + 1 }),
    place,
    size,
  }));
}

function Note({ device, hovered }: { device: OpenDevice; hovered: Signal<Hovered | null> }) {
  const app = useApp();
  const now = hovered.value;
  if (!now) return null;
  const { clock } = deviceTiles(device, app.source);
  const grouping = device.info.groupings.find(({ by }) => by === app.by.value);
  return <MapTooltip info={device.info} clock={clock} grouping={grouping} hovered={now} />;
}
