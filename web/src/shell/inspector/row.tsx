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

interface FoundRowProps {
  what: TableName;
  query: string;
  name: string;
  /** Which of the rows is meant. */
  choose: (answer: TableAnswer) => readonly Cell[] | undefined;
}

/** The row that a query finds, or what stands in its place. An exported page, which knows no queries, has the first rows. */
function FoundRow({ what, query, name, choose }: FoundRowProps) {
  const app = useApp();
  const asked = { count: 1000, q: app.source.live ? query : null };
  const { value, error } = useAnswer<TableAnswer>(app.path(question(`table/${what}`, asked)));
  if (error) return <Failure what={`The ${name}`} error={error} />;
  if (!value) return <Loading what={`Reading the ${name}`} />;
  const row = choose(value);
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
      <FoundRow
        what="sites"
        query={`site:${site}`}
        name="site"
        choose={({ data }) => data.find(([id]) => id === site)}
      />
      <div class="buttons">
        <Button onClick={list}>its blocks</Button>
      </div>
    </>
  );
}

/** At one address several segments may have been, one after the other, and within longer ones: it is the one at the cursor. */
export function SegmentDetails({ address }: { address: string }) {
  const event = useApp().cursor.value;
  return (
    <FoundRow
      what="segments"
      query={`addr:${address}`}
      name="segment"
      choose={(answer) => segmentAt(answer, address, event)}
    />
  );
}

/** Of the segments that begin at an address the one that is reserved after an event, else the last before it, else the first. */
export function segmentAt(
  { columns, data }: Pick<TableAnswer, "columns" | "data">,
  address: string,
  event: number,
): readonly Cell[] | undefined {
  const cell = (row: readonly Cell[], name: string) =>
    row[columns.findIndex((column) => column.name === name)];
  const from = (row: readonly Cell[]) => Number(cell(row, "from_event"));
  const here = data.filter((row) => cell(row, "address") === address).sort((a, b) => from(a) - from(b));
  return here.filter((row) => from(row) <= event).at(-1) ?? here[0];
}
