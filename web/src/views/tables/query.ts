// What the table asks for, given what is chosen in the page.

import type { App } from "../../state/app.ts";
import type { TableName } from "../../state/types.ts";
import type { TableQuery } from "./rows.ts";

/** The order that answers most questions first, where it is not that of the table itself. */
const firstSort: Record<TableName, string> = { blocks: "-size_bytes", sites: "", segments: "", events: "" };

export function tableQuery(app: App): TableQuery {
  const what = app.table.value;
  const marked = app.markedEvents();
  const live = app.live.value && canBeLive(what);
  return {
    what,
    q: app.query.value,
    sort: app.sort.value || firstSort[what],
    event: live ? app.cursor.value : null,
    range: marked && !live ? `${marked.first}-${marked.last}` : null,
  };
}

export function canBeLive(what: TableName): boolean {
  return what !== "events";
}
