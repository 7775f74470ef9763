// Prints amounts of memory, spans of time and counts as the command line does (internal/units
// in Go); both are tested with the same cases.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** bytes in the largest binary unit not larger than it, two decimals: "20.00 MiB". */
export function formatBytes(bytes: number): string {
  const n = Math.round(bytes);
  if (n < 0) return `-${formatBytes(-n)}`;
  if (n < 1024) return `${n} B`;
  let unit = Math.floor(Math.log2(n) / 10);
  if (1024 ** unit > n) unit--; // log2 rounds up just below a power
  let hundredths = hundredthsOf(n, unit);
  if (hundredths === 102400 && unit < UNITS.length) {
    unit++;
    hundredths = 100;
  }
  return `${decimal(hundredths)} ${UNITS[unit - 1]}`;
}

/** n in hundredths of 1024^unit, rounded half up, exact for every integer that is safe. */
function hundredthsOf(n: number, unit: number): number {
  const one = 1n << BigInt(10 * unit);
  return Number((BigInt(n) * 100n + one / 2n) / one);
}

function decimal(hundredths: number): string {
  return `${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, "0")}`;
}

/** A difference: as formatBytes, with a sign always. */
export function formatBytesDelta(bytes: number): string {
  return bytes > 0 ? `+${formatBytes(bytes)}` : formatBytes(bytes);
}

/** A count with a comma between groups of three digits. */
export function formatCount(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 event", "5,212 events". */
export function formatPlural(n: number, one: string, many: string): string {
  return n === 1 ? `1 ${one}` : `${formatCount(n)} ${many}`;
}

/** part of whole in per cent; never rounded to nothing or to all when it is neither. */
export function formatShare(part: number, whole: number): string {
  if (whole <= 0) return "-";
  const percent = (part / whole) * 100;
  if (part > 0 && percent < 0.05) return "<0.1 %";
  if (part < whole && percent >= 99.95) return ">99.9 %";
  return `${percent.toFixed(1)} %`;
}

const MINUTE_US = 60e6;

/** A span of time in microseconds: "850.00 µs", "12.50 s", "3 min 04 s", "1 h 02 min". */
export function formatDuration(us: number): string {
  if (us < 0) return `-${formatDuration(-us)}`;
  if (us < 1) return `${Math.round(us * 1000)} ns`;
  for (const [unit, next, name] of [
    [1, 1e3, "µs"],
    [1e3, 1e6, "ms"],
    [1e6, MINUTE_US, "s"],
  ] as const) {
    const hundredths = Math.floor((us * 100) / unit + 0.5);
    if ((hundredths * unit) / 100 < next) return `${decimal(hundredths)} ${name}`;
  }
  const seconds = Math.floor(us / 1e6 + 0.5);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  const minutes = Math.floor(us / MINUTE_US + 0.5);
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
