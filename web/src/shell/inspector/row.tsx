// A site or a segment, as its row in the tables has it.

import { cellText } from "../../state/cells.ts";
import { useAnswer, useApp } from "../../state/hooks.ts";
import { question } from "../../state/question.ts";
import type { Cell, ColumnType, TableAnswer, TableColumn, TableName } from "../../state/types.ts";
import { Button, Fact, Failure, Loading } from "../ui.tsx";
import { EventLink } from "./event.tsx";

/** Columns of a row and their values; events lead to where they happened. */
function RowFacts({ columns, row }: { columns: readonly TableColumn[]; row: readonly Cell[] }) {
  return (
    <dl class="facts">
      {columns.map(({ name, type, title }, index) => (
        <Fact key={name} name={title}>
          <RowValue type={type} value={row[index] ?? null} />
        </Fact>
      ))}
    </dl>
  );
}

function RowValue({ type, value }: { type: ColumnType; value: Cell }) {
  if (type === "event" && typeof value === "number" && value >= 0) return <EventLink event={value} />;
  return <>{cellText(type, value)}</>;
}

/** The rows that a query finds, of which the first is shown, or what stands in its place. */
function FirstRow({ what, query, name }: { what: TableName; query: string; name: string }) {
  const app = useApp();
  const { value, error } = useAnswer<TableAnswer>(
    app.path(question(`table/${what}`, { count: 1, q: query })),
  );
  const row = value?.data[0];
  if (error) return <Failure what={`The ${name}`} error={error} />;
  if (!value) return <Loading what={`Reading the ${name}`} />;
  if (!row) return <p class="quiet">The recording has no such {name}.</p>;
  return <RowFacts columns={value.columns} row={row} />;
}

export function SiteDetails({ site }: { site: number }) {
  const app = useApp();
  const list = () => {
    app.query.value = `site:${site}`;
    app.table.value = "blocks";
    app.act("view-tables");
  };
  return (
    <>
      <FirstRow what="sites" query={`site:${site}`} name="site" />
      <div class="buttons">
        <Button onClick={list}>its blocks</Button>
      </div>
    </>
  );
}

export function SegmentDetails({ address }: { address: string }) {
  return <FirstRow what="segments" query={`addr:${address}`} name="segment" />;
}
