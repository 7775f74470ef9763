// The colours of groups in a picture, with those that are not selected dimmed.

import { type Colour, mix, type Theme } from "../../draw/palette.ts";
import type { Device, GroupBy } from "../../source/api.ts";
import type { Selection } from "../../state/viewer.ts";

/** Of groups that are not selected this much of their colour stays. */
const DIMMED = 0.28;

/** Colours by the number of a group; ground is what the dimmed ones fade into. */
export function groupColours(
  theme: Theme,
  info: Device,
  by: GroupBy,
  selection: Selection | null,
  ground: Colour,
): (group: number) => Colour {
  const plain = theme.groups(info.groupings.find((grouping) => grouping.by === by));
  const only = selectedGroup(selection, by);
  if (only === null) return plain;
  return (group) => (group === only ? plain(group) : mix(ground, plain(group), DIMMED));
}

/** The group of a grouping that is selected, as such or as a site. */
function selectedGroup(selection: Selection | null, by: GroupBy): number | null {
  if (selection?.kind === "group" && selection.by === by) return selection.group;
  return selection?.kind === "site" && by === "site" ? selection.site : null;
}
