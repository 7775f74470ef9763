// The rows that match as a file of comma-separated values: amounts in bytes and microseconds, as the columns' names
// say, so that other programs can reckon with them.

import { saveBlob } from "../../shell/pictures.ts";
import type { App } from "../../state/app.ts";
import type { Cell, TableAnswer } from "../../state/types.ts";
import { formatCount } from "../../units/units.ts";
import { chunkQuestion, chunkRows, type TableQuery } from "./rows.ts";

/** Rows beyond these are not saved: some 100 MB, which a page can still hold. */
const mostRows = 500_000;

/** What a spreadsheet would take for a formula and run. */
const formula = /^[=+\-@\t\r]/;

/** One line; texts with commas, quotes or line ends are quoted, and none is a formula: a recording may come from anyone. */
export function csvLine(cells: readonly (Cell | undefined)[]): string {
  return cells
    .map((cell) => {
      const plain = cell === null || cell === undefined ? "" : String(cell);
      const text = typeof cell === "string" && formula.test(plain) ? `'${plain}` : plain;
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    })
    .join(",");
}

/** Saves all rows that match, in the order in which they are shown. */
export async function saveCSV(app: App, query: TableQuery): Promise<void> {
  const base = app.path("");
  if (base === null) return;
  const parts: string[] = [];
  let rows = 0;
  try {
    for (let chunk = 0; ; chunk++) {
      const answer = await app.source.json<TableAnswer>(`${base}/${chunkQuestion(query, chunk)}`);
      if (chunk === 0) parts.push(`${csvLine(answer.columns.map(({ name }) => name))}\r\n`);
      for (const row of answer.data) parts.push(`${csvLine(row)}\r\n`);
      rows += answer.data.length;
      if (rows >= answer.matching || answer.data.length < chunkRows) break;
      if (rows >= mostRows) {
        app.toast(
          `only the first ${formatCount(rows)} of ${formatCount(answer.matching)} rows are saved`,
          "error",
        );
        break;
      }
    }
  } catch (error) {
    app.toast(`${formatCount(rows)} rows were read, then: ${(error as Error).message}`, "error");
    return;
  }
  saveBlob(new Blob(parts, { type: "text/csv" }), `${query.what}.csv`);
  app.toast(`saved ${formatCount(rows)} rows as ${query.what}.csv`);
}
