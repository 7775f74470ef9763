// Parts of the note beside the pointer.

import type { Grouping } from "../../source/api.ts";
import { NONE } from "../../tiles/decode.ts";

/** How a group is called; the number may stand for all that are not named. */
export function groupName(grouping: Grouping | undefined, group: number): string {
  if (group === NONE) return "everything else";
  return grouping?.groups.find(({ id }) => id === group)?.name ?? `${grouping?.by ?? "group"} ${group}`;
}

/** A name and a value, with the colour of a group. */
export function Row({
  name,
  colour,
  children,
}: {
  name: string;
  colour?: string;
  children: preact.ComponentChildren;
}) {
  return (
    <p class="tip-row">
      {colour && <span class="swatch" style={{ background: colour }} />}
      <span class="tip-name">{name}</span>
      <span class="tip-value">{children}</span>
    </p>
  );
}
