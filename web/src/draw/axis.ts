// Ticks of axes: where they stand and what they say. Bytes step in binary units, events in
// 1, 2 and 5, and times in what people count seconds, minutes and hours by.

import { formatCount, formatDuration } from "../units/units.ts";
import type { Span } from "./camera.ts";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export interface Tick {
  readonly value: number;
  readonly label: string;
}

/** The first of steps that leaves room for each label, with px pixels for the span and least for a label. */
function stepFor(span: Span, px: number, least: number, step: (atLeast: number) => number): number {
  const count = Math.max(1, Math.floor(px / least));
  return step((span.to - span.from) / count);
}

function multiples(span: Span, step: number): number[] {
  const first = Math.ceil(span.from / step - 1e-9);
  const last = Math.floor(span.to / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

/** 1, 2 or 5 times a power of ten, not below atLeast, and not below 1. */
export function decimalStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, atLeast)));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= atLeast - 1e-9) ?? 10 * power;
}

/** A power of two of bytes, not below atLeast; half steps of a unit are 512 of the one below. */
function byteStep(atLeast: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(atLeast) - 1e-9));
}

const CLOCK_US = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => ms * 1e3),
  ...[1, 2, 5, 10, 15, 30].map((s) => s * 1e6),
  ...[1, 2, 5, 10, 15, 30].map((min) => min * 60e6),
  ...[1, 2, 6, 12, 24].map((h) => h * 3600e6),
];

/** A span of time that people count by, not below atLeast microseconds. */
export function clockStep(atLeast: number): number {
  return CLOCK_US.find((step) => step >= atLeast) ?? decimalStep(atLeast / 86400e6) * 86400e6;
}

/** Below this an axis has no room for two labels. */
const TWO_LABELS_PX = 28;

/** Ticks of an axis of bytes; two at least where they have room, for one alone tells no scale. */
export function byteTicks(span: Span, px: number): Tick[] {
  let step = stepFor(span, px, 40, byteStep);
  while (px >= TWO_LABELS_PX && step > 1 && multiples(span, step).length < 2) step /= 2;
  return multiples(span, step).map((value) => ({ value, label: shortBytes(value, step) }));
}

/** Bytes in the largest unit in which the step needs no more than two decimals: "4 GiB", "1.25 GiB", "1152 MiB". */
function shortBytes(value: number, step: number): string {
  if (value === 0) return "0";
  let power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.abs(value)) / 10 + 1e-9));
  while (power > 0 && step < 1024 ** power / 4) power--;
  const decimals = Math.max(0, Math.min(2, Math.ceil(-Math.log2(step / 1024 ** power))));
  return `${(value / 1024 ** power).toFixed(decimals)} ${UNITS[power]}`;
}

/** Ticks of an axis of events. */
export function eventTicks(span: Span, px: number): Tick[] {
  const step = stepFor(span, px, 90, decimalStep);
  return multiples(span, step).map((value) => ({ value, label: `e${formatCount(value)}` }));
}

/** Ticks of an axis of microseconds since the first event. */
export function timeTicks(span: Span, px: number): Tick[] {
  const step = stepFor(span, px, 90, (atLeast) => clockStep(Math.max(1, atLeast)));
  return multiples(span, step).map((value) => ({
    value,
    label: value === 0 ? "0" : clockLabel(value, step),
  }));
}

/** A time with the digits that tell neighbouring ticks apart: "1.25 s", "250 ms", "2:05 min". */
function clockLabel(us: number, step: number): string {
  const sign = us < 0 ? "-" : "";
  const t = Math.abs(us);
  if (t >= 60e6 && step >= 1e6) return `${sign}${minutes(t)}`;
  const unit = t >= 1e6 ? 1e6 : t >= 1e3 ? 1e3 : 1;
  const name = unit === 1e6 ? "s" : unit === 1e3 ? "ms" : "µs";
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  return decimals <= 6 ? `${sign}${(t / unit).toFixed(decimals)} ${name}` : formatDuration(us);
}

function minutes(us: number): string {
  const seconds = Math.round(us / 1e6);
  const hours = Math.floor(seconds / 3600);
  const rest = `${String(Math.floor(seconds / 60) % 60).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}`;
  return hours > 0 ? `${hours}:${rest} h` : `${rest.replace(/^0/, "")} min`;
}
