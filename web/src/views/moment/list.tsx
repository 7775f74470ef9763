// The page of a moment as a list: each segment, and how it is used.

import { Button } from "../../shell/ui.tsx";
import { useApp } from "../../state/hooks.ts";
import type { MomentSegment } from "../../state/types.ts";
import { formatBytes, formatCount, formatShare } from "../../units/units.ts";
import { countWords, usageOf } from "./layout.ts";

export function MomentList({ segments }: { segments: readonly MomentSegment[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="list-scroll" tabIndex={0} aria-label="Segments">
      <p class="scale quiet">{countWords(segments)}</p>
      <table class="list">
        <thead>
          <tr>
            {["segment", "pool", "stream", "serves"].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
            {["size", "allocated", "pending free", "free", "free share", "largest free", "blocks"].map(
              (title) => (
                <th key={title} scope="col" class="number">
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {segments.map((segment) => (
            <SegmentRow key={segment.address} segment={segment} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function SegmentRow({ segment }: { segment: MomentSegment }) {
  const app = useApp();
  const { allocated, pending, free, largestFree, blocks } = usageOf(segment);
  const { address } = segment;
  const selection = app.selection.value;
  const chosen = selection?.kind === "segment" && selection.address === address;
  return (
    <tr class={chosen ? "chosen" : ""}>
      <td class="mono">
        <Button
          kind="link"
          label={`Select the segment at ${address}`}
          onClick={() => {
            app.selection.value = { kind: "segment", address };
          }}
        >
          {address}
        </Button>
      </td>
      <td>{segment.pool}</td>
      <td>{segment.stream}</td>
      <td>{segment.small ? "small" : "large"}</td>
      <td class="number">{formatBytes(segment.size_bytes)}</td>
      <td class="number">{formatBytes(allocated)}</td>
      <td class="number">{formatBytes(pending)}</td>
      <td class="number">{formatBytes(free)}</td>
      <td class="number">{formatShare(free, segment.size_bytes)}</td>
      <td class="number">{formatBytes(largestFree)}</td>
      <td class="number">{formatCount(blocks)}</td>
    </tr>
  );
}
