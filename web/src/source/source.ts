// Where the page's answers come from: a server, or the page itself when it was exported.

import type { Session } from "./api.ts";

/** A question that was answered with an error: its HTTP status, and the server's words. */
export class AnswerError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Of a query: where the word stands that was not understood, in UTF-16 units. */
    readonly place: { readonly at: number; readonly length: number } | null = null,
  ) {
    super(message);
    this.name = "AnswerError";
  }
}

export interface Source {
  /** False for an exported page, which holds a part of the answers and asks nobody. */
  readonly live: boolean;
  /** The answer to path, which is relative to api/v1: "rec/ab12/0/moment?event=7". */
  json<T>(path: string, signal?: AbortSignal): Promise<T>;
  /** A tile's bytes. */
  tile(path: string, signal?: AbortSignal): Promise<ArrayBuffer>;
  /** Calls back at once and at every change of the session, until the result is called. */
  progress(onChange: (session: Session) => void, onLost: (lost: boolean) => void): () => void;
}
