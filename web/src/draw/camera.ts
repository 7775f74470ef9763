// Where a view looks: a range on its axis in float64, and what moves it. Nothing here knows
// of pixels on a screen beyond the width that a range is spread over.

/** from < to. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export function width(span: Span): number {
  return span.to - span.from;
}

/** The narrowest window that a view zooms into. */
export interface Bounds extends Span {
  readonly least: number;
}

/**
 * The span moved and widened or narrowed so that it lies within bounds and is not narrower
 * than bounds.least. A span with a number that is none becomes the whole.
 */
export function clamp(span: Span, bounds: Bounds): Span {
  const whole = width(bounds);
  const wanted = width(span);
  if (!Number.isFinite(wanted) || !Number.isFinite(span.from)) return { from: bounds.from, to: bounds.to };
  const size = Math.min(whole, Math.max(Math.min(bounds.least, whole), wanted));
  const middle = (span.from + span.to) / 2;
  const from = Math.min(
    bounds.to - size,
    Math.max(bounds.from, wanted === size ? span.from : middle - size / 2),
  );
  return { from, to: from + size };
}

/** The span narrowed by factor > 1, or widened by one below, with the point about staying where it is. */
export function zoom(span: Span, factor: number, about: number, bounds: Bounds): Span {
  const size = Math.min(width(bounds), Math.max(Math.min(bounds.least, width(bounds)), width(span) / factor));
  const share = (about - span.from) / width(span);
  const from = about - share * size;
  return clamp({ from, to: from + size }, bounds);
}

/** The span moved by a share of its own width. */
export function pan(span: Span, share: number, bounds: Bounds): Span {
  const by = share * width(span);
  return clamp({ from: span.from + by, to: span.to + by }, bounds);
}

/** A span with a margin on both sides: a tenth of it, or what makes it least wide. */
export function framed(span: Span, bounds: Bounds): Span {
  const margin = Math.max(width(span) / 10, (bounds.least - width(span)) / 2);
  return clamp({ from: span.from - margin, to: span.to + margin }, bounds);
}

/** A straight map from a span to pixels and back. */
export interface Scale {
  readonly span: Span;
  readonly px: number;
  (value: number): number;
}

/** Maps span to 0…px. */
export function scaleOf(span: Span, px: number): Scale {
  const perUnit = px / width(span);
  return Object.assign((value: number) => (value - span.from) * perUnit, { span, px });
}

/** The value at a pixel. */
export function unscale(scale: Scale, px: number): number {
  return scale.span.from + (px / scale.px) * width(scale.span);
}

/**
 * The level whose buckets of 2^level are at least so many pixels wide and narrower than twice
 * that, where a pixel stands for perPixel; between 0 and most.
 */
export function levelFor(perPixel: number, most: number, pixels = 1): number {
  return Math.min(most, Math.max(0, Math.ceil(Math.log2(perPixel * pixels) - 1e-9)));
}
