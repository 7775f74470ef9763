// The head and the rows of the grid.

import { cellText, isNumber } from "../../state/cells.ts";
import { useApp } from "../../state/hooks.ts";
import type { Cell, ColumnType, TableColumn } from "../../state/types.ts";
import type { TableQuery } from "./rows.ts";

/** Room for a column, in pixels: what its widest usual value needs. */
const widths: Record<ColumnType, number> = {
  bytes: 96,
  count: 84,
  us: 96,
  rate: 84,
  event: 96,
  block: 84,
  site: 72,
  step: 60,
  address: 128,
  text: 150,
};

/** Columns whose values are longer or shorter than their type's. */
const wide: Record<string, number> = {
  site: 300,
  module: 240,
  op: 200,
  stream: 70,
  pool: 56,
  category: 124,
};

/** Columns that answer most questions come first; the rest follow in the order of the answer. */
const firstColumns = [
  "event",
  "time_us",
  "action",
  "block",
  "size_bytes",
  "category",
  "site",
  "blocks",
  "held_bytes",
  "held_blocks",
  "alloc_event",
  "free_event",
  "life_us",
];

/** Places of the columns in the answer, in the order in which they are shown; the first stays first. */
export function shownOrder(columns: readonly TableColumn[]): number[] {
  const rank = ({ name }: TableColumn) => {
    const place = firstColumns.indexOf(name);
    return place < 0 ? firstColumns.length : place;
  };
  const places = columns.map((_, i) => i);
  return places.sort((a, b) => (a && b ? rank(columns[a]!) - rank(columns[b]!) || a - b : a - b));
}

/** What a title needs: a character on average, and the margins with the arrow of sorting. */
const titleCharacter = 7;
const titleRoom = 28;

function columnWidth({ name, type, title }: TableColumn): number {
  return Math.max(wide[name] ?? widths[type] ?? 120, title.length * titleCharacter + titleRoom);
}

export function HeadRow({ query, columns }: { query: TableQuery; columns: readonly TableColumn[] }) {
  return (
    <div class="grid-row head" role="row" aria-rowindex={1}>
      {columns.map((column) => (
        <HeadCell key={column.name} query={query} column={column} />
      ))}
    </div>
  );
}

function HeadCell({ query, column }: { query: TableQuery; column: TableColumn }) {
  const app = useApp();
  const { name, title, type } = column;
  const falling = query.sort === `-${name}`;
  const rising = query.sort === name;
  const next = falling ? name : `-${name}`;
  return (
    <div
      class={isNumber(type) ? "cell number" : "cell"}
      role="columnheader"
      aria-sort={falling ? "descending" : rising ? "ascending" : "none"}
      style={{ width: `${columnWidth(column)}px` }}
    >
      <button
        type="button"
        title={`Sort by ${title}`}
        onClick={() => {
          app.sort.value = next;
        }}
      >
        {title}
        <span aria-hidden="true">{falling ? " ↓" : rising ? " ↑" : ""}</span>
      </button>
    </div>
  );
}

interface RowProps {
  index: number;
  top: number;
  cells: readonly Cell[] | null;
  columns: readonly TableColumn[];
  order: readonly number[];
  current: boolean;
  onPick: () => void;
}

export function Row({ index, top, cells, columns, order, current, onPick }: RowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the grid, which holds the focus
    <div
      id={`row-${index}`}
      class={current ? "grid-row current" : "grid-row"}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={current}
      style={{ transform: `translateY(${top}px)` }}
      onClick={onPick}
    >
      {order.map((place) => (
        <BodyCell key={place} column={columns[place]!} value={cells ? cells[place] : undefined} />
      ))}
    </div>
  );
}

function BodyCell({ column, value }: { column: TableColumn; value: Cell | undefined }) {
  const text = value === undefined ? "…" : cellText(column.type, value);
  return (
    <div
      class={isNumber(column.type) ? "cell number" : "cell"}
      role="gridcell"
      style={{ width: `${columnWidth(column)}px` }}
      title={text.length > 24 ? text : undefined}
    >
      {text}
    </div>
  );
}
