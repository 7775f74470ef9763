// How recordings, devices and verdicts are called, wherever they are named.

import type { Choice } from "../state/app.ts";
import type { ViewName } from "../state/viewer.ts";

export const viewTitles: Record<ViewName, string> = {
  timeline: "Timeline",
  map: "Map",
  moment: "Moment",
  flame: "Flame",
  tables: "Tables",
  findings: "Findings",
  compare: "Compare",
  tune: "Tune",
};

/** The file's own name, without the folders before it. */
export function baseName(file: string): string {
  return file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1);
}

/** "rank 1 · GPU 1 · train.pickle". */
export function choiceName({ recording, summary }: Choice): string {
  const rank = recording.rank === null ? [] : [`rank ${recording.rank}`];
  const device = summary.kind === "host" ? "pinned host memory" : `GPU ${summary.device}`;
  return [...rank, device, baseName(recording.file)].join(" · ");
}

const verdicts: Record<string, { sign: string; tone: "bad" | "warn" | "good" | "plain"; words: string }> = {
  "out-of-memory": { sign: "✕", tone: "bad", words: "Out of memory" },
  leak: { sign: "▲", tone: "bad", words: "Leak" },
  fragmentation: { sign: "▦", tone: "warn", words: "Fragmentation" },
  healthy: { sign: "✓", tone: "good", words: "Healthy" },
  unclear: { sign: "?", tone: "plain", words: "Unclear" },
};

/** Sign, tone and words of a verdict's kind; one that this version does not know is shown as it is. */
export function verdictWords(kind: string): { sign: string; tone: string; words: string } {
  return verdicts[kind] ?? { sign: "·", tone: "plain", words: kind };
}
