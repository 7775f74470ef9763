// The drawn page of a moment, and what the pointer and the keys do on it.

import { useMemo, useState } from "preact/hooks";
import { groupToken } from "../../draw/palette.ts";
import { type Paint, type Size, Surface, useScroller } from "../../paint/surface.tsx";
import { colourOf } from "../../paint/tokens.ts";
import { Button } from "../../shell/ui.tsx";
import type { App } from "../../state/app.ts";
import { useActions, useAnswer, useApp } from "../../state/hooks.ts";
import { question } from "../../state/question.ts";
import type { MomentSegment, TableAnswer } from "../../state/types.ts";
import { formatBytes, formatPlural } from "../../units/units.ts";
import {
  countWords,
  finestScale,
  fittingScale,
  layoutMoment,
  type MomentLayout,
  placeAt,
  spanAt,
  states,
} from "./layout.ts";
import { type MomentColours, MomentPaint } from "./paint.ts";

interface Props {
  segments: readonly MomentSegment[];
  event: number;
}

/** A span that the pointer or the keys have found. */
interface Spot {
  segment: number;
  span: number;
}

export function MomentPicture({ segments, event }: Props) {
  const app = useApp();
  const { ref, size, top } = useScroller();
  const page = useZoomedPage(segments, size);
  const [tip, setTip] = useState<(Spot & { x: number; y: number }) | null>(null);
  useWalk(app, segments);
  const spotAt = (mouse: MouseEvent): Spot | null => {
    const corner = (mouse.currentTarget as HTMLElement).getBoundingClientRect();
    const place = placeAt(page.layout, mouse.clientX - corner.left, mouse.clientY - corner.top);
    const segment = place && segments[place.segment];
    return segment ? { segment: place.segment, span: spanAt(segment.spans, place.offset) } : null;
  };
  const paint = usePaint(segments, page.layout, event);
  return (
    <>
      <ScaleBar page={page} segments={segments} />
      <div ref={ref} class="moment-scroll">
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the arrows are keys of the page */}
        <div
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it is walked by arrows
          tabIndex={0}
          role="application"
          style={{ height: `${Math.max(page.layout.height, size.height)}px` }}
          aria-roledescription="map of segments"
          aria-label={`${formatPlural(segments.length, "segment", "segments")} at event ${event}. Arrows walk through the blocks.`}
          onClick={(mouse) => select(app, segments, spotAt(mouse))}
          onMouseMove={(mouse) => {
            const spot = spotAt(mouse);
            setTip(spot && { ...spot, x: mouse.clientX, y: mouse.clientY });
          }}
          onMouseLeave={() => setTip(null)}
        >
          <Surface name={`moment-e${event}`} size={size} top={top} paint={paint} />
        </div>
      </div>
      {tip && <Tip segments={segments} spot={tip} x={tip.x} y={tip.y} />}
    </>
  );
}

interface ZoomedPage {
  layout: MomentLayout;
  bytesPerPixel: number;
  /** Shows so many times as many bytes in a pixel. */
  zoom(factor: number): void;
  fit(): void;
}

/** The page laid out at the scale that fits, or at the one that was chosen. */
function useZoomedPage(segments: readonly MomentSegment[], { width, height }: Size): ZoomedPage {
  const [chosen, setChosen] = useState<number | null>(null);
  const fitting = useMemo(() => fittingScale(segments, width, height), [segments, width, height]);
  const bytesPerPixel = chosen ?? fitting;
  const layout = useMemo(
    () => layoutMoment(segments, width, bytesPerPixel),
    [segments, width, bytesPerPixel],
  );
  const zoom = (factor: number) =>
    setChosen(Math.max(finestScale(segments, width), Math.min(fitting * 4, bytesPerPixel * factor)));
  const fit = () => setChosen(null);
  useActions({ "zoom-in": () => zoom(0.5), "zoom-out": () => zoom(2), fit });
  return { layout, bytesPerPixel, zoom, fit };
}

function ScaleBar({ page, segments }: { page: ZoomedPage; segments: readonly MomentSegment[] }) {
  return (
    <p class="scale quiet">
      one pixel is {formatBytes(page.bytesPerPixel)}
      <Button label="Zoom out (S)" onClick={() => page.zoom(2)}>
        −
      </Button>
      <Button label="Zoom in (W)" onClick={() => page.zoom(0.5)}>
        +
      </Button>
      <Button label="Fit all at once (0)" onClick={page.fit}>
        fit
      </Button>
      <span class="spring" />
      {countWords(segments)}
    </p>
  );
}

function usePaint(segments: readonly MomentSegment[], layout: MomentLayout, event: number): Paint {
  const { selection } = useApp();
  const colours = useMomentColours();
  const found = useFound(event);
  const chosen = selection.value;
  return useMemo(() => {
    const marks = {
      block: chosen?.kind === "block" ? chosen.block : null,
      segment: chosen?.kind === "segment" ? chosen.address : null,
      found,
    };
    return (painter, width, from, to) =>
      new MomentPaint(painter, segments, colours, marks).page(layout, from, to, width);
  }, [segments, layout, colours, chosen, found]);
}

function useMomentColours(): MomentColours {
  const app = useApp();
  const theme = app.theme.value;
  const grouping = app.device.value?.info.groupings.find(({ by }) => by === app.by.value);
  return useMemo(
    () => ({
      token: (name) => colourOf(name, theme),
      group: (id) => colourOf(groupToken(grouping, id), theme),
    }),
    [theme, grouping],
  );
}

/** Blocks that the query finds at the event; the table answers with a thousand at most, the largest first. */
function useFound(event: number): ReadonlySet<number> | null {
  const app = useApp();
  const query = app.query.value;
  const path =
    query && app.path(question("table/blocks", { count: 1000, event, q: query, sort: "-size_bytes" }));
  const { value } = useAnswer<TableAnswer>(path || null);
  return useMemo(
    () => (query && value ? new Set(value.data.map((row) => Number(row[0]))) : null),
    [query, value],
  );
}

function select(app: App, segments: readonly MomentSegment[], spot: Spot | null): void {
  const segment = spot && segments[spot.segment];
  if (!segment) return;
  const block = segment.spans.block[spot.span] ?? -1;
  app.selection.value = block >= 0 ? { kind: "block", block } : { kind: "segment", address: segment.address };
  app.say(spotWords(segments, spot));
}

/** Arrows to the sides go from block to block, up and down from segment to segment. */
function useWalk(app: App, segments: readonly MomentSegment[]): void {
  const spots = useMemo(() => blockSpots(segments), [segments]);
  const move = (step: number) => {
    const selection = app.selection.peek();
    const at = spots.findIndex(
      ({ segment, span }) =>
        selection?.kind === "block" && segments[segment]?.spans.block[span] === selection.block,
    );
    select(app, segments, spots[at < 0 ? 0 : at + step] ?? null);
  };
  const moveSegment = (step: number) => {
    const selection = app.selection.peek();
    const at = segments.findIndex((segment) => segmentHolds(segment, selection));
    const next = segments[at < 0 ? 0 : at + step];
    if (!next) return;
    app.selection.value = { kind: "segment", address: next.address };
    app.say(`segment of ${formatBytes(next.size_bytes)} at ${next.address}`);
  };
  useActions({
    "pan-left": () => move(-1),
    "pan-right": () => move(1),
    "pan-up": () => moveSegment(-1),
    "pan-down": () => moveSegment(1),
  });
}

function blockSpots(segments: readonly MomentSegment[]): Spot[] {
  return segments.flatMap(({ spans }, segment) =>
    spans.block.flatMap((block, span) => (block >= 0 ? [{ segment, span }] : [])),
  );
}

function segmentHolds(segment: MomentSegment, selection: App["selection"]["value"]): boolean {
  if (selection?.kind === "segment") return selection.address === segment.address;
  return selection?.kind === "block" && segment.spans.block.includes(selection.block);
}

const stateWords: Record<number, string> = {
  [states.free]: "free",
  [states.allocated]: "allocated",
  [states.pending]: "freed, still in use on a stream",
};

function spotWords(segments: readonly MomentSegment[], { segment, span }: Spot): string {
  const spans = segments[segment]?.spans;
  return `${formatBytes(spans?.size[span] ?? 0)} ${stateWords[spans?.state[span] ?? 0] ?? ""}`;
}

function Tip({
  segments,
  spot,
  x,
  y,
}: {
  segments: readonly MomentSegment[];
  spot: Spot;
  x: number;
  y: number;
}) {
  const app = useApp();
  const segment = segments[spot.segment];
  if (!segment) return null;
  const group = segment.spans.group[spot.span];
  const grouping = app.device.value?.info.groupings.find(({ by }) => by === app.by.value);
  const name = grouping?.groups.find(({ id }) => id === group)?.name;
  return (
    <div class="tip" style={{ left: `${x + 14}px`, top: `${y + 14}px` }}>
      <strong>{spotWords(segments, spot)}</strong>
      {name && <div>{name}</div>}
      <div class="quiet">
        in a segment of {formatBytes(segment.size_bytes)} at <code>{segment.address}</code>
      </div>
    </div>
  );
}
