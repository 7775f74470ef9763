// Steps from event to event: what [ ], comma, full stop, P and M do in every view.

import type { App } from "./app.ts";
import { question } from "./question.ts";
import type { TableAnswer } from "./types.ts";

export type Direction = "next" | "prev";

/** Moves the cursor by whole events; -1 is the moment before the first. */
export function stepBy(app: App, events: number): void {
  app.goTo(app.cursor.peek() + events);
}

type Sought = Record<string, string | number>;

/** What `next` looks for, given what is selected. A site is named to it by any block of it. */
async function neighboursOf(app: App): Promise<Sought> {
  const selection = app.selection.peek();
  if (selection?.kind === "block") return { of: "block", block: selection.block };
  if (selection?.kind !== "site") return { of: "step" };
  const path = app.path(question("table/blocks", { count: 1, q: `site:${selection.site}` }));
  const block = path && (await app.source.json<TableAnswer>(path)).data[0]?.[0];
  return typeof block === "number" ? { of: "site", block } : { of: "step" };
}

/** Goes to the next or previous event of the selected block or site, else to the next step. */
export async function jump(app: App, dir: Direction, of?: Sought): Promise<void> {
  try {
    const sought = of ?? (await neighboursOf(app));
    const path = app.path(question("next", { event: app.cursor.peek(), dir, ...sought }));
    if (path === null) return;
    const { event } = await app.source.json<{ event: number | null }>(path);
    const what = names[String(sought.of)] ?? "event";
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
