// What a row of a table is about, for the rest of the page.

import type { App } from "../../state/app.ts";
import { cellText } from "../../state/cells.ts";
import type { Cell, TableAnswer, TableName } from "../../state/types.ts";

/** Selects the block, site or segment of a row, or puts the cursor on its event. */
export function selectRow(
  app: App,
  what: TableName,
  answer: TableAnswer | null,
  row: readonly Cell[] | null,
): void {
  const id = row?.[0];
  if (!answer || !row || id === null || id === undefined) return;
  if (what === "events") app.goTo(Number(id));
  else app.selection.value = selectionOf(what, id);
  const words = answer.columns.slice(0, 5).map(({ title, type }, i) => `${title} ${cellText(type, row[i])}`);
  app.say(words.join(", "));
}

function selectionOf(what: Exclude<TableName, "events">, id: Cell): App["selection"]["value"] {
  if (what === "segments") return { kind: "segment", address: String(id) };
  return what === "blocks" ? { kind: "block", block: Number(id) } : { kind: "site", site: Number(id) };
}
