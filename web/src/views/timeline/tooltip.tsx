// The numbers under the pointer, exact as the tile has them.

import type { Clock } from "../../draw/clock.ts";
import { groupColor } from "../../draw/palette.ts";
import type { Device, Grouping } from "../../source/api.ts";
import { NONE } from "../../tiles/decode.ts";
import { formatBytes, formatCount, formatDuration } from "../../units/units.ts";
import type { Extremes } from "../shared/lines.ts";
import { markTitles } from "../shared/marks.ts";
import { groupName, Row } from "../shared/note.tsx";
import type { Hovered } from "./hover.ts";
import type { PackedBlock } from "./packed.ts";

interface TooltipProps {
  readonly info: Device;
  readonly clock: Clock | null;
  readonly grouping: Grouping | undefined;
  readonly hovered: Hovered;
}

export function Tooltip({ info, clock, grouping, hovered }: TooltipProps) {
  const { from, to, series, mark, block, slice, group } = hovered;
  return (
    <>
      <p class="tip-title">
        {from === to ? `event ${formatCount(from)}` : `events ${formatCount(from)} – ${formatCount(to)}`}
        {clock && <span class="quiet"> · {formatDuration(Math.round(clock.us(from)))}</span>}
      </p>
      {mark && (
        <p class={mark.kind === "oom" ? "tip-mark tone-bad" : "tip-mark"}>
          <strong>{markTitles[mark.kind]}</strong> {mark.text}
        </p>
      )}
      {block && <BlockLines block={block} grouping={grouping} info={info} />}
      {slice && group !== null && (
        <Row colour={groupColor(grouping, group)} name={groupName(grouping, group)}>
          {formatBytes(slice.groups.find((each) => each.group === group)?.bytes ?? 0)}
        </Row>
      )}
      <Row name="allocated">{span(series.allocated)}</Row>
      <Row name="reserved">{span(series.reserved)}</Row>
      <Row name="active">{span(series.active)}</Row>
      <Row name="requested">{span(series.requested)}</Row>
    </>
  );
}

function BlockLines({
  block,
  grouping,
  info,
}: { block: PackedBlock } & Pick<TooltipProps, "grouping" | "info">) {
  const kept = block.end === NONE || block.end >= info.events;
  return (
    <>
      <Row colour={groupColor(grouping, block.group)} name={`block ${formatCount(block.id)}`}>
        {formatBytes(block.sizeBytes)}
      </Row>
      <p class="quiet">
        {groupName(grouping, block.group)}, from event {formatCount(block.start)}{" "}
        {kept ? "to the end" : `to ${formatCount(block.end)}`}
      </p>
    </>
  );
}

/** "1.00 GiB", or what it was between. */
function span({ min, max }: Extremes): string {
  const [low, high] = [formatBytes(min), formatBytes(max)];
  return low === high ? high : `${low} – ${high}`;
}
