// The flame graph as a list: each call with its bytes, indented below its caller.

import { useApp } from "../../state/hooks.ts";
import { namesSought, soughtIn } from "../../state/query.ts";
import type { FlameAnswer } from "../../state/types.ts";
import { formatBytes, formatCount, formatShare } from "../../units/units.ts";
import { layoutFlame, nodeAt } from "./layout.ts";
import { nameOf } from "./picture.tsx";

/** Calls with less than a thousandth of the bytes are left out of the list. */
const listWidth = 1000;

export function FlameList({ answer }: { answer: FlameAnswer }) {
  const app = useApp();
  const words = namesSought(app.query.value);
  const zoom = nodeAt(answer.nodes, app.flame.value.zoom);
  const { boxes, narrow } = layoutFlame(answer, zoom, listWidth, 1);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="list-scroll" tabIndex={0} aria-label="Calls and what they hold">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">call</th>
            <th scope="col" class="number">
              bytes
            </th>
            <th scope="col" class="number">
              share
            </th>
            <th scope="col" class="number">
              blocks
            </th>
          </tr>
        </thead>
        <tbody>
          {boxes.map(({ node, depth }) => (
            <tr key={node} class={soughtIn(nameOf(answer, node), words) ? "found" : ""}>
              <td class="mono" style={{ paddingLeft: `${8 + depth * 12}px` }}>
                {nameOf(answer, node)}
              </td>
              <td class="number">{formatBytes(answer.nodes.bytes[node] ?? 0)}</td>
              <td class="number">{formatShare(answer.nodes.bytes[node] ?? 0, answer.total_bytes)}</td>
              <td class="number">{formatCount(answer.nodes.blocks[node] ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {narrow > 0 && <p class="quiet">Calls with less than 0.1 % are left out.</p>}
    </section>
  );
}
