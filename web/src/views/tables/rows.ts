// Rows of a table, fetched in chunks as they come into sight.

import { useEffect, useMemo, useState } from "preact/hooks";
import { useApp } from "../../state/hooks.ts";
import { question } from "../../state/question.ts";
import type { Cell, TableAnswer, TableName } from "../../state/types.ts";
import { chunksOf } from "./virtual.ts";

/** The most that one answer holds. */
export const chunkRows = 1000;

/** Chunks that are kept: at some 200 bytes a cell well below 50 MB. */
const mostChunks = 12;

export interface TableQuery {
  what: TableName;
  q: string;
  sort: string;
  /** What is live after this event only. */
  event: number | null;
  /** What lies in this range of events only, as in "10-20". */
  range: string | null;
}

/** A chunk's question, in the form that an exported page knows it by. */
export function chunkQuestion({ what, ...rest }: TableQuery, chunk: number): string {
  return question(`table/${what}`, {
    ...rest,
    count: chunkRows,
    from: chunk === 0 ? null : chunk * chunkRows,
  });
}

export interface Rows {
  /** Any of the answers: columns and counts are the same in all of them. */
  answer: TableAnswer | null;
  error: Error | null;
  row(index: number): readonly Cell[] | null;
}

/** The chunks of one query that are here or on their way. */
class Chunks {
  readonly here = new Map<number, TableAnswer>();
  error: Error | null = null;
  private readonly asked = new Map<number, AbortController>();

  constructor(
    private readonly ask: (chunk: number, signal: AbortSignal) => Promise<TableAnswer>,
    private readonly changed: () => void,
  ) {}

  /** Fetches what is missing of these, and forgets what was used longest ago. */
  want(chunks: readonly number[]): void {
    for (const [chunk, abort] of this.asked) if (!chunks.includes(chunk)) this.drop(chunk, abort);
    for (const chunk of chunks) if (!this.touch(chunk) && !this.asked.has(chunk)) void this.fetch(chunk);
    for (const chunk of [...this.here.keys()].slice(0, -mostChunks)) this.here.delete(chunk);
  }

  close(): void {
    for (const [chunk, abort] of this.asked) this.drop(chunk, abort);
  }

  private touch(chunk: number): boolean {
    const answer = this.here.get(chunk);
    if (!answer) return false;
    this.here.delete(chunk);
    this.here.set(chunk, answer);
    return true;
  }

  private drop(chunk: number, abort: AbortController): void {
    this.asked.delete(chunk);
    abort.abort();
  }

  private async fetch(chunk: number): Promise<void> {
    const abort = new AbortController();
    this.asked.set(chunk, abort);
    try {
      this.here.set(chunk, await this.ask(chunk, abort.signal));
      this.error = null;
      this.changed();
    } catch (error) {
      if (abort.signal.aborted) return;
      this.error = error as Error;
      this.changed();
    } finally {
      if (this.asked.get(chunk) === abort) this.asked.delete(chunk);
    }
  }
}

/** Rows of a query; those from first up to end are fetched. */
export function useRows(query: TableQuery, first: number, end: number): Rows {
  const app = useApp();
  const [, setChange] = useState(0);
  const base = app.path("");
  const key = chunkQuestion(query, 0); // it holds every part of the query
  const chunks = useMemo(
    () =>
      new Chunks(
        (chunk, signal) => app.source.json<TableAnswer>(`${base}/${chunkQuestion(query, chunk)}`, signal),
        () => setChange((n) => n + 1),
      ),
    [app, base, key],
  );
  useEffect(() => () => chunks.close(), [chunks]);
  useEffect(() => chunks.want(chunksOf(first, Math.max(end, first + 1), chunkRows)), [chunks, first, end]);
  return {
    answer: chunks.here.values().next().value ?? null,
    error: chunks.error,
    row: (index) => chunks.here.get(Math.floor(index / chunkRows))?.data[index % chunkRows] ?? null,
  };
}
