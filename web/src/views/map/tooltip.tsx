// The numbers under the pointer, exact as the tile has them.

import type { Clock } from "../../draw/clock.ts";
import { groupColor } from "../../draw/palette.ts";
import type { Device, Grouping } from "../../source/api.ts";
import { formatBytes, formatCount, formatDuration, formatShare } from "../../units/units.ts";
import { groupName, Row } from "../shared/note.tsx";
import type { Hovered } from "./hover.ts";
import { laneWords } from "./lanes.ts";
import { isKept, type Rect } from "./rects.ts";

interface MapTooltipProps {
  readonly info: Device;
  readonly clock: Clock | null;
  readonly grouping: Grouping | undefined;
  readonly hovered: Hovered;
}

export function MapTooltip({ info, clock, grouping, hovered }: MapTooltipProps) {
  const { event, address, lane, block, segment, density } = hovered;
  const unit = info.tiles.unit_bytes;
  return (
    <>
      <p class="tip-title">
        {address ?? lane?.address ?? "no memory here"}
        {event >= 0 && <span class="quiet"> · event {formatCount(event)}</span>}
        {event >= 0 && clock && <span class="quiet"> · {formatDuration(Math.round(clock.us(event)))}</span>}
      </p>
      {block && <BlockRows rect={block} info={info} grouping={grouping} clock={clock} />}
      {event >= 0 && !block && <p>{spotWords(segment !== null, density)}</p>}
      {segment && (
        <Row name="segment">
          {formatBytes(segment.size * unit)}, {lifeWords(segment, info)}
        </Row>
      )}
      {lane && (
        <p class="quiet">
          {event < 0 && `${formatBytes(lane.size_bytes)} of addresses for `}
          {laneWords(lane)}
        </p>
      )}
    </>
  );
}

/** What is at a spot where no rectangle is. */
function spotWords(reserved: boolean, density: number): string {
  if (density > 0) return `small blocks hold ${formatShare(density, 1)} of this spot; zoom in to see them`;
  return reserved ? "free, but reserved" : "not reserved at this moment";
}

function BlockRows({ rect, info, grouping, clock }: Omit<MapTooltipProps, "hovered"> & { rect: Rect }) {
  const pending = rect.end !== rect.freed;
  return (
    <>
      <Row colour={groupColor(grouping, rect.group)} name={groupName(grouping, rect.group)}>
        {formatBytes(rect.size * info.tiles.unit_bytes)}
      </Row>
      <Row name={`block ${formatCount(rect.id)}`}>{lifeWords(rect, info)}</Row>
      {clock && !isKept(rect) && (
        <Row name="lives">{formatDuration(Math.round(clock.us(rect.end) - clock.us(rect.start)))}</Row>
      )}
      {pending && <Row name="let go of">event {formatCount(rect.freed)}</Row>}
    </>
  );
}

/** "e120 – e450", "from e120 to the end". */
function lifeWords(rect: Rect, info: Device): string {
  const from = `e${formatCount(rect.start)}`;
  return isKept(rect) || rect.end >= info.events
    ? `from ${from} to the end`
    : `${from} – e${formatCount(rect.end)}`;
}
