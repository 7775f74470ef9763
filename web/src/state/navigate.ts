// Steps from event to event: what [ ], comma, full stop, P and M do in every view.

import type { App } from "./app.ts";
import { question } from "./question.ts";
import type { Selection } from "./viewer.ts";

export type Direction = "next" | "prev";

/** Moves the cursor by whole events; -1 is the moment before the first. */
export function stepBy(app: App, events: number): void {
  app.goTo(app.cursor.peek() + events);
}

/** What `next` looks for, given what is selected. */
export function neighbourOf(selection: Selection | null): Record<string, string | number> {
  if (selection?.kind === "block") return { of: "block", block: selection.block };
  if (selection?.kind === "site") return { of: "site", site: selection.site };
  return { of: "step" };
}

/** Goes to the next or previous event of the selected block or site, else to the next step. */
export async function jump(
  app: App,
  dir: Direction,
  of: Record<string, string | number> = neighbourOf(app.selection.peek()),
): Promise<void> {
  const path = app.path(question("next", { event: app.cursor.peek(), dir, ...of }));
  if (path === null) return;
  const what = names[String(of.of)] ?? "event";
  try {
    const { event } = await app.source.json<{ event: number | null }>(path);
    if (event === null) app.say(`no ${dir === "next" ? "further" : "earlier"} ${what}`);
    else app.goTo(event);
  } catch (error) {
    app.toast((error as Error).message, "error");
  }
}

const names: Record<string, string> = {
  block: "event of this block",
  site: "event of this site",
  step: "step",
  oom: "out-of-memory error",
  retry: "retry",
  segment: "segment event",
  free: "free",
  alloc: "allocation",
};

/** Goes to the peak of allocated or of reserved memory. */
export function goToPeak(app: App, reserved: boolean): void {
  const peak = app.device.peek()?.info.peak;
  if (!peak) return;
  app.goTo(reserved ? peak.reserved_event : peak.allocated_event);
  app.say(`at the peak of ${reserved ? "reserved" : "allocated"} memory`);
}

/** Marks the event under the cursor, or takes its mark away. */
export function toggleMark(app: App): void {
  const event = app.cursor.peek();
  const marks = app.marks.peek();
  const there = marks.includes(event);
  app.marks.value = there ? marks.filter((mark) => mark !== event) : [...marks, event].sort((a, b) => a - b);
  app.say(there ? "mark removed" : `event ${event} marked`);
}
