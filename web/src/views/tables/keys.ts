// Keys that move the current row of a grid.

/** The row that a key leads to; null where the key is none of the grid's. */
export function rowAfter(
  { key, ctrlKey, altKey, metaKey }: Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "metaKey">,
  current: number,
  rows: number,
  page: number,
): number | null {
  if (ctrlKey || altKey || metaKey) return null;
  const next: Record<string, number> = {
    ArrowDown: current + 1,
    ArrowUp: current - 1,
    PageDown: current + page,
    PageUp: current - page,
    Home: 0,
    End: rows - 1,
  };
  return next[key] ?? null;
}
