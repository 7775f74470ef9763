// Names of the groups, in the order of the stack from its top, with what each holds at the
// pointer, else at the cursor.

import { groupColor } from "../../draw/palette.ts";
import type { Grouping } from "../../source/api.ts";
import type { App } from "../../state/app.ts";
import { useApp } from "../../state/hooks.ts";
import type { Selection } from "../../state/viewer.ts";
import { NONE } from "../../tiles/decode.ts";
import { formatBytes, formatCount } from "../../units/units.ts";
import { groupName } from "../shared/note.tsx";
import type { Slice } from "./bands.ts";

/** What a click on a group selects. */
export function selectionOf(grouping: Grouping, group: number): Selection {
  return grouping.by === "site" ? { kind: "site", site: group } : { kind: "group", by: grouping.by, group };
}

/** Selects the group, or nothing where it was selected. */
function toggleGroup(app: App, grouping: Grouping, group: number): void {
  const wanted = selectionOf(grouping, group);
  app.selection.value = isSelected(app.selection.peek(), grouping, group) ? null : wanted;
}

function isSelected(selection: Selection | null, grouping: Grouping, group: number): boolean {
  if (selection?.kind === "site") return grouping.by === "site" && selection.site === group;
  return selection?.kind === "group" && selection.by === grouping.by && selection.group === group;
}

export function Legend({ grouping, slice }: { grouping: Grouping; slice: Slice }) {
  const app = useApp();
  const rows = slice.groups.filter(({ group, bytes }) => group !== NONE || bytes > 0).reverse();
  return (
    <section class="stack-legend" aria-label={`Groups by ${grouping.by}`}>
      <h3>{slice.event < 0 ? "at the beginning" : `after event ${formatCount(slice.event)}`}</h3>
      <ul>
        {rows.map(({ group, bytes }) => (
          <li key={group}>
            <button
              type="button"
              aria-pressed={isSelected(app.selection.value, grouping, group)}
              disabled={group === NONE}
              title={groupName(grouping, group)}
              onClick={() => toggleGroup(app, grouping, group)}
            >
              <span class="swatch" style={{ background: groupColor(grouping, group) }} />
              <span class="stack-name">{groupName(grouping, group)}</span>
              <span class={bytes === 0 ? "number quiet" : "number"}>{formatBytes(bytes)}</span>
            </button>
          </li>
        ))}
      </ul>
      {grouping.others > 0 && <p class="quiet">{formatCount(grouping.others)} more in the table</p>}
    </section>
  );
}
