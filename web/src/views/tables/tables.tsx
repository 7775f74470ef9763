// Tables view: blocks, sites, segments and events, with the query of the search box, sorted by any column.

import { useEffect } from "preact/hooks";
import { Button, Failure, Pick, Tick } from "../../shell/ui.tsx";
import { useApp } from "../../state/hooks.ts";
import type { TableAnswer, TableName } from "../../state/types.ts";
import { formatBytes, formatCount, formatPlural } from "../../units/units.ts";
import { saveCSV } from "./csv.ts";
import { Grid } from "./grid.tsx";
import { canBeLive, tableQuery } from "./query.ts";
import type { TableQuery } from "./rows.ts";

export function TablesView() {
  const app = useApp();
  const query = tableQuery(app);
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
      <Button label="Save the rows that match as CSV" onClick={() => void saveCSV(app, query)}>
        CSV
      </Button>
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
