// What grew and what shrank, the largest change first.

import { namesSought, soughtIn } from "../../state/query.ts";
import { formatBytes, formatBytesDelta } from "../../units/units.ts";

export interface DiffRow {
  name: string;
  before: number;
  after: number;
  /** new, gone, grown or shrunk; "" says nothing. */
  change: string;
}

interface Props {
  title: string;
  rows: readonly DiffRow[];
  query?: string;
}

export function DiffTable({ title, rows, query = "" }: Props) {
  const words = namesSought(query);
  const shown = words.length === 0 ? rows : rows.filter(({ name }) => soughtIn(name, words));
  const most = Math.max(1, ...rows.map(({ before, after }) => Math.abs(after - before)));
  if (shown.length === 0)
    return (
      <p class="quiet">{rows.length === 0 ? `No ${title} differs.` : `No ${title} matches the search.`}</p>
    );
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col" class="number">
            A
          </th>
          <th scope="col" class="number">
            B
          </th>
          <th scope="col" class="number">
            change
          </th>
          <th scope="col">
            <span class="heard">change, drawn</span>
          </th>
          <th scope="col">
            <span class="heard">kind of change</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {shown.map((row) => (
          <Row key={row.name} row={row} most={most} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ row: { name, before, after, change }, most }: { row: DiffRow; most: number }) {
  const delta = after - before;
  const share = Math.abs(delta) / most;
  return (
    <tr>
      <td class="clip" title={name}>
        {name}
      </td>
      <td class="number">{formatBytes(before)}</td>
      <td class="number">{formatBytes(after)}</td>
      <td class="number">{formatBytesDelta(delta)}</td>
      <td class="delta">
        <span class={delta < 0 ? "bar less" : "bar more"} style={{ width: `${share * 50}%` }} />
      </td>
      <td class="quiet">{change}</td>
    </tr>
  );
}
