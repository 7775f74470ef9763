// Values of tables as text, by the type of their column.

import { formatBytes, formatCount, formatDuration } from "../units/units.ts";
import type { Cell, ColumnType } from "./types.ts";

const printers: Record<ColumnType, (value: number) => string> = {
  bytes: formatBytes,
  us: formatDuration,
  count: formatCount,
  rate: (value) => formatBytes(Math.round(value)), // a step
  event: (value) => (value < 0 ? "before the first" : formatCount(value)),
  block: formatCount,
  site: formatCount,
  step: formatCount,
  address: String,
  text: String,
};

export function cellText(type: ColumnType, value: Cell | undefined): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  return (printers[type] ?? String)(value);
}

/** Columns of numbers stand at the right, so that their digits are one below the other. */
export function isNumber(type: ColumnType): boolean {
  return type !== "text" && type !== "address";
}
