// Scrolling through more rows than a browser can lay out. Its scroll bar moves over at most so many pixels;
// where the rows need more, a pixel of it stands for several, and the wheel, which must not skip rows, moves
// them by itself.

/** Browsers stop at 17 to 33 million pixels; half of the least is safe. */
export const mostPixels = 8e6;

export interface Extent {
  rows: number;
  rowHeight: number;
  /** Height of the window, in pixels. */
  height: number;
}

/** Rows that are wholly in sight, at least one. */
export function fittingRows({ rowHeight, height }: Extent): number {
  return Math.max(1, Math.floor(height / rowHeight));
}

/** The greatest first row: the last ones fill the window. May have a fraction. */
export function lastTop(extent: Extent): number {
  return Math.max(0, extent.rows - extent.height / extent.rowHeight);
}

/** Pixels of what scrolls. */
export function scrollHeight({ rows, rowHeight, height }: Extent): number {
  return Math.max(height, Math.min(mostPixels, rows * rowHeight));
}

/** The first row, with a fraction, at a place of the scroll bar. */
export function topAt(extent: Extent, scrollTop: number): number {
  const way = scrollHeight(extent) - extent.height;
  return way <= 0 ? 0 : clamp(scrollTop / way, 0, 1) * lastTop(extent);
}

/** The place of the scroll bar for a first row. */
export function scrollTopOf(extent: Extent, top: number): number {
  const last = lastTop(extent);
  return last <= 0 ? 0 : clamp(top / last, 0, 1) * (scrollHeight(extent) - extent.height);
}

/** The first row after the wheel was turned by so many pixels. */
export function afterWheel(extent: Extent, top: number, pixels: number): number {
  return clamp(top + pixels / extent.rowHeight, 0, lastTop(extent));
}

/** The first row that brings a row into sight, moving no further than needed. */
export function revealing(extent: Extent, top: number, row: number): number {
  if (row < top) return row;
  const below = row + 1 - extent.height / extent.rowHeight;
  return below > top ? clamp(below, 0, lastTop(extent)) : top;
}

/** Numbers of the rows in sight, from first up to, not with, end. */
export function visibleRows(extent: Extent, top: number): { first: number; end: number } {
  const first = Math.floor(top);
  const end = Math.min(extent.rows, Math.ceil(top + extent.height / extent.rowHeight));
  return { first, end: Math.max(first, end) };
}

/** Numbers of the chunks that hold rows from first up to, not with, end. */
export function chunksOf(first: number, end: number, size: number): number[] {
  const from = Math.floor(first / size);
  const to = Math.max(from, Math.ceil(end / size) - 1);
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

function clamp(x: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, x));
}
