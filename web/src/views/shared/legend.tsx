// The colours of groups in use, with their names; a click selects a group.

import { groupColor } from "../../draw/palette.ts";
import { same } from "../../state/hash.ts";
import { useApp } from "../../state/hooks.ts";
import type { Selection } from "../../state/viewer.ts";

/** Names beyond these would fill the line and have colours that cannot be told apart. */
const mostNames = 12;

export function Legend() {
  const app = useApp();
  const grouping = app.device.value?.info.groupings.find(({ by }) => by === app.by.value);
  if (!grouping) return null;
  const rest = grouping.groups.length - mostNames + grouping.others;
  return (
    <ul class="legend" aria-label={`Colours by ${grouping.by}`}>
      {grouping.groups.slice(0, mostNames).map(({ id, name }) => {
        const selection: Selection = { kind: "group", by: grouping.by, group: id };
        const chosen = same(app.selection.value, selection);
        return (
          <li key={id}>
            <button
              type="button"
              aria-pressed={chosen}
              title={name}
              onClick={() => {
                app.selection.value = chosen ? null : selection;
              }}
            >
              <span class="swatch" style={{ background: groupColor(grouping, id) }} />
              {name}
            </button>
          </li>
        );
      })}
      <li>
        <span class="swatch free" /> free
      </li>
      {rest > 0 && <li class="quiet">and {rest} more</li>}
    </ul>
  );
}
