// Tables view: blocks, sites, segments and events, with the query of the search box, sorted by any column.

import { useEffect } from "preact/hooks";
import { Failure, Pick, Tick } from "../../shell/ui.tsx";
import type { App } from "../../state/app.ts";
import { useApp } from "../../state/hooks.ts";
import type { TableAnswer, TableName } from "../../state/types.ts";
import { formatBytes, formatCount, formatPlural } from "../../units/units.ts";
import { Grid } from "./grid.tsx";
import type { TableQuery } from "./rows.ts";

/** The order that answers most questions first, where it is not that of the table itself. */
const firstSort: Record<TableName, string> = { blocks: "-size_bytes", sites: "", segments: "", events: "" };

function queryOf(app: App): TableQuery {
  const what = app.table.value;
  const marked = app.marked.value;
  return {
    what,
    q: app.query.value,
    sort: app.sort.value || firstSort[what],
    event: app.live.value && canBeLive(what) ? app.cursor.value : null,
    range: marked && !(app.live.value && canBeLive(what)) && what !== "segments" ? rangeText(marked) : null,
  };
}

function canBeLive(what: TableName): boolean {
  return what === "blocks" || what === "segments";
}

function rangeText({ from, to }: { from: number; to: number }): string {
  return `${Math.max(0, Math.floor(from))}-${Math.max(0, Math.floor(to))}`;
}

export function TablesView() {
  const app = useApp();
  const query = queryOf(app);
  return (
    <Grid
      query={query}
      head={(answer) => <TableBar query={query} answer={answer} />}
      failed={(error) => <Failure what="The table" error={error} />}
    />
  );
}

function TableBar({ query, answer }: { query: TableQuery; answer: TableAnswer | null }) {
  const app = useApp();
  return (
    <div class="toolbar">
      <Pick<TableName>
        label="Table"
        value={query.what}
        options={[
          ["blocks", "Blocks"],
          ["sites", "Sites"],
          ["segments", "Segments"],
          ["events", "Events"],
        ]}
        onPick={(table) => {
          app.table.value = table;
          app.sort.value = "";
        }}
      />
      {canBeLive(query.what) && (
        <Tick
          label={`live at event ${formatCount(app.cursor.value)}`}
          checked={app.live.value}
          onChange={(live) => {
            app.live.value = live;
          }}
        />
      )}
      {query.range && <span class="quiet">within events {query.range.replace("-", " – ")}</span>}
      <span class="spring" />
      <Matches what={query.what} answer={answer} />
    </div>
  );
}

function Matches({ what, answer }: { what: TableName; answer: TableAnswer | null }) {
  const app = useApp();
  const words = answer ? matchWords(what, answer) : "";
  useEffect(() => {
    if (words) app.say(words);
  }, [app, words]);
  return <span>{words || "…"}</span>;
}

function matchWords(what: TableName, { rows, matching, matching_bytes }: TableAnswer): string {
  const count =
    matching === rows
      ? formatPlural(rows, what.slice(0, -1), what)
      : `${formatCount(matching)} of ${formatPlural(rows, what.slice(0, -1), what)}`;
  return matching_bytes > 0 ? `${count}, ${formatBytes(matching_bytes)}` : count;
}
