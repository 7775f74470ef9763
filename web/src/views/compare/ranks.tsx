// All devices of all recordings, one below the other.

import { Button } from "../../shell/ui.tsx";
import { baseName, verdictWords } from "../../shell/words.ts";
import type { DeviceRef } from "../../source/api.ts";
import type { Choice } from "../../state/app.ts";
import { same } from "../../state/hash.ts";
import { useApp } from "../../state/hooks.ts";
import { formatBytes, formatCount } from "../../units/units.ts";

export function RanksTable({ other }: { other: DeviceRef }) {
  const app = useApp();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="padded" tabIndex={0} aria-label="All devices">
      <h2>All devices</h2>
      <table class="list">
        <thead>
          <tr>
            <th scope="col">file</th>
            <th scope="col" class="number">
              rank
            </th>
            <th scope="col">device</th>
            <th scope="col" class="number">
              events
            </th>
            <th scope="col" class="number">
              peak allocated
            </th>
            <th scope="col" class="number">
              peak reserved
            </th>
            <th scope="col">verdict</th>
            <th scope="col">show as</th>
          </tr>
        </thead>
        <tbody>
          {app.choices.value.map((choice) => (
            <RankRow key={`${choice.ref.id}/${choice.ref.dev}`} choice={choice} other={other} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function RankRow({ choice, other }: { choice: Choice; other: DeviceRef }) {
  const app = useApp();
  const { ref, recording, summary } = choice;
  const isA = same(app.choice.value?.ref, ref);
  const isB = same(other, ref);
  const { sign, words } = verdictWords(summary.verdict.kind);
  return (
    <tr class={isA || isB ? "chosen" : ""}>
      <td title={recording.file}>{baseName(recording.file)}</td>
      <td class="number">{recording.rank ?? "–"}</td>
      <td>{summary.kind === "host" ? "pinned host memory" : `GPU ${summary.device}`}</td>
      <td class="number">{formatCount(summary.events)}</td>
      <td class="number">{formatBytes(summary.peak_allocated_bytes)}</td>
      <td class="number">{formatBytes(summary.peak_reserved_bytes)}</td>
      <td>
        <span aria-hidden="true">{sign}</span> {words}
      </td>
      <td class="buttons">
        <Button
          kind="link"
          disabled={isA}
          label={`Show ${recording.file} as A`}
          onClick={() => app.choose(ref)}
        >
          A
        </Button>
        <Button
          kind="link"
          disabled={isA || isB}
          label={`Show ${recording.file} as B`}
          onClick={() => {
            app.other.value = ref;
          }}
        >
          B
        </Button>
      </td>
    </tr>
  );
}
