// What the page knows of queries without asking: where a fault stands in one, and which plain words it looks for. The
// language itself is the server's.

import type { AnswerError } from "../source/source.ts";

/** A fault's place in a query, in UTF-16 units. */
export type FaultPlace = NonNullable<AnswerError["place"]>;

/** A query cut at a fault; without a place the word is empty. */
export function wordAt(
  query: string,
  place: FaultPlace | null,
): { before: string; word: string; after: string } {
  if (!place || place.at < 0 || place.at >= query.length) return { before: query, word: "", after: "" };
  const end = Math.min(query.length, place.at + Math.max(1, place.length));
  return { before: query.slice(0, place.at), word: query.slice(place.at, end), after: query.slice(end) };
}

/** What a query looks for in names of functions and files, in lower case: what the flame view lights up. */
export function namesSought(query: string): string[] {
  return query
    .split(/\s+/)
    .map((word) => /^(?:(?:file|func):)?([^\s:<>=-][^\s:<>=]*)$/.exec(word)?.[1]?.toLowerCase() ?? "")
    .filter((word) => word !== "");
}

/** Whether a name holds one of the words sought, which are in lower case. */
export function soughtIn(name: string, words: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return words.some((word) => lower.includes(word));
}
