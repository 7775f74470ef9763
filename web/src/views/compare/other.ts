// Which device the shown one is compared with.

import type { DeviceRef } from "../../source/api.ts";
import type { App, Choice } from "../../state/app.ts";

/** A device as questions name it: "ID/0". */
export function deviceKey({ id, dev }: DeviceRef): string {
  return `${id}/${dev}`;
}

/** The device of the link, else the first other GPU on which anything happened. */
export function otherChoice(
  choices: readonly Choice[],
  chosen: DeviceRef,
  wanted: DeviceRef | null,
): Choice | null {
  const others = choices.filter(({ ref }) => deviceKey(ref) !== deviceKey(chosen));
  const linked = wanted && others.find(({ ref }) => ref.id.startsWith(wanted.id) && ref.dev === wanted.dev);
  if (linked) return linked;
  return others.find(({ summary }) => summary.kind === "gpu" && summary.events > 0) ?? others[0] ?? null;
}

/** The event after which both are compared; null compares each at its peak. */
export function compareEvent(app: App, other: Choice): number | null {
  return app.live.value ? Math.min(app.cursor.value, other.summary.events - 1) : null;
}
