// The timeline: what is allocated and reserved over events or time, by what it is for.

import { type Signal, useComputed, useSignalEffect } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { Float } from "../../draw/float.tsx";
import { type Painter, Stage } from "../../draw/stage.tsx";
import type { Grouping } from "../../source/api.ts";
import type { App } from "../../state/app.ts";
import { useActions, useApp } from "../../state/hooks.ts";
import type { OpenDevice, Range } from "../../state/viewer.ts";
import { deviceTiles } from "../../tiles/shared.ts";
import { formatBytes, formatCount } from "../../units/units.ts";
import { NoEvents } from "../shared/controls.tsx";
import { fit, keyPan, keyZoom, motionActions, shareOf } from "../shared/motion.ts";
import { usePainting } from "../shared/painting.ts";
import { middle } from "../shared/rows.ts";
import { useSelectedBlock } from "../shared/selected.ts";
import type { Hovered } from "./hover.ts";
import { Legend } from "./legend.tsx";
import { TimelinePicture, type Touches, type Wishes } from "./picture.ts";
import { Pointing } from "./pointing.ts";
import { TimelineState } from "./state.ts";
import { TimelineToolbar } from "./toolbar.tsx";
import { Tooltip } from "./tooltip.tsx";
import "../shared/pictures.css";

export function Timeline() {
  const device = useApp().device.value;
  if (device?.info.events === 0) return <NoEvents />;
  return device ? <TimelineOf key={`${device.ref.id}/${device.ref.dev}`} device={device} /> : null;
}

function TimelineOf({ device }: { device: OpenDevice }) {
  const app = useApp();
  const tiles = deviceTiles(device, app.source);
  const view = useMemo(() => new TimelineState(app), [app]);
  const picture = useMemo(() => new TimelinePicture(device.info, tiles), [device, tiles]);
  const pointing = useMemo(() => new Pointing(app, picture, view), [app, picture, view]);
  const painter = useRef<Painter | null>(null);
  const life = useLife(device);

  usePainting({
    name: "timeline",
    ...{ tiles, painter },
    shown: [app.range, app.axis, app.by, app.selection, view.bytes, view.lines, view.blocks],
    above: [app.cursor, app.marked, app.marks, view.pointer, life],
  });
  useSignalEffect(() => {
    for (const each of [app.cursor, view.pointer]) each.value;
    view.show(picture, app.cursor.peek());
  });
  useTimelineActions(picture, view, life);
  return (
    <section class="timeline">
      <TimelineToolbar device={device} view={view} />
      <div class="timeline-body">
        <div class="picture">
          <Stage
            label={labelOf(device)}
            describedBy="timeline-help"
            paint={(frame) => {
              picture.paint(frame, wishesOf(app, view));
              view.painted(picture, app.cursor.peek());
              return tiles.store.settled;
            }}
            touch={(frame) => picture.touch(frame, wishesOf(app, view), touchesOf(app, view, life.peek()))}
            gestures={pointing}
            painter={painter}
          />
          <Float at={view.pointer}>
            <Note device={device} hovered={view.hovered} />
          </Float>
          <p id="timeline-help" class="heard">
            W and S zoom, R and V zoom vertically, A and D move, comma and full stop step by event, P goes to
            the peak. The table of events holds the same numbers.
          </p>
        </div>
        <LegendNow device={device} view={view} />
      </div>
    </section>
  );
}

/** What keys do. */
function useTimelineActions(picture: TimelinePicture, view: TimelineState, life: Signal<Range | null>): void {
  const app = useApp();
  useActions({
    ...motionActions(app, () => shareOf(picture.layout.plot, view.pointer.peek()?.x)),
    "pan-up": ({ fast }) => view.panBytes(picture, keyPan(fast)),
    "pan-down": ({ fast }) => view.panBytes(picture, -keyPan(fast)),
    taller: ({ fast }) => view.zoomBytes(picture, keyZoom(fast), middle(picture.layout.plot)),
    flatter: ({ fast }) => view.zoomBytes(picture, 1 / keyZoom(fast), middle(picture.layout.plot)),
    fit: () => {
      fit(app, life.peek());
      view.bytes.value = null;
    },
  });
}

function wishesOf(app: App, view: TimelineState): Wishes {
  return {
    range: app.range.peek(),
    axis: app.axis.peek(),
    by: app.by.peek(),
    bytes: view.bytes.peek(),
    lines: view.lines.peek(),
    blocks: view.blocks.peek(),
    selection: app.selection.peek(),
  };
}

function touchesOf(app: App, view: TimelineState, life: Range | null): Touches {
  return {
    cursor: app.cursor.peek(),
    marked: app.marked.peek(),
    marks: app.marks.peek(),
    pointer: view.hovered.peek() && view.pointer.peek(),
    life,
  };
}

function labelOf({ info }: OpenDevice): string {
  const { allocated_bytes, reserved_bytes, allocated_event } = info.peak;
  return (
    `Timeline of ${formatCount(info.events)} events: at most ${formatBytes(allocated_bytes)} allocated, ` +
    `after event ${formatCount(allocated_event)}, and ${formatBytes(reserved_bytes)} reserved`
  );
}

/** Events that the selected block lives, for the bar above the plot. */
function useLife(device: OpenDevice): Signal<Range | null> {
  const block = useSelectedBlock();
  return useComputed(() => {
    const detail = block.value;
    if (!detail) return null;
    return {
      from: Math.max(0, detail.alloc_event),
      to: detail.free_completed_event ?? detail.free_requested_event ?? device.info.events,
    };
  }) as Signal<Range | null>;
}

function Note({ device, hovered }: { device: OpenDevice; hovered: Signal<Hovered | null> }) {
  const app = useApp();
  const now = hovered.value;
  if (!now) return null;
  const { clock } = deviceTiles(device, app.source);
  const grouping = groupingOf(device, app);
  return <Tooltip info={device.info} clock={clock} grouping={grouping} hovered={now} />;
}

function groupingOf({ info }: OpenDevice, app: App): Grouping | undefined {
  return info.groupings.find(({ by }) => by === app.by.value);
}

function LegendNow({ device, view }: { device: OpenDevice; view: TimelineState }) {
  const grouping = groupingOf(device, useApp());
  const slice = view.slice.value;
  return grouping && slice ? <Legend grouping={grouping} slice={slice} /> : null;
}
