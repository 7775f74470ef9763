// Answers from the server of `ullage view`, at the address the page came from.

import type { Session } from "./api.ts";
import { AnswerError, type Source } from "./source.ts";

const API = "api/v1/";

/** A server that does not answer within this has gone: it is on the same machine. */
const LOST_AFTER_MS = 3000;

interface ErrorBody {
  error?: { message?: string; at?: number; length?: number };
}

/** The message in the body of an answer that is an error; its status where there is none. */
async function errorOf(response: Response): Promise<AnswerError> {
  const body = (await response.json().catch(() => null)) as ErrorBody | null;
  const { message, at, length } = body?.error ?? {};
  const place = at === undefined || length === undefined ? null : { at, length };
  return new AnswerError(response.status, message ?? `the server answered ${response.status}`, place);
}

export class HTTPSource implements Source {
  readonly live = true;

  constructor(private readonly base: string) {}

  async json<T>(path: string, signal?: AbortSignal): Promise<T> {
    return (await (await this.get(path, signal)).json()) as T;
  }

  async tile(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
    return (await this.get(path, signal)).arrayBuffer();
  }

  /**
   * Listens while the page is looked at. Browsers keep six connections to one server over all their tabs: were each
   * tab to hold one, the seventh would never load.
   */
  progress(onChange: (session: Session) => void, onLost: (lost: boolean) => void): () => void {
    let stop: (() => void) | null = null;
    const follow = () => {
      if (document.hidden) {
        stop?.();
        stop = null;
      } else stop ??= this.listen(onChange, onLost);
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      stop?.();
    };
  }

  private listen(onChange: (session: Session) => void, onLost: (lost: boolean) => void): () => void {
    const events = new EventSource(this.url("progress"));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const found = () => {
      clearTimeout(timer);
      timer = undefined;
      onLost(false);
    };
    events.addEventListener("open", found);
    events.addEventListener("session", (event) => {
      found();
      onChange(JSON.parse((event as MessageEvent<string>).data) as Session);
    });
    // A stream that breaks is opened again by the browser; only one that stays away counts as lost.
    events.addEventListener("error", () => {
      timer ??= setTimeout(() => onLost(true), LOST_AFTER_MS);
    });
    return () => {
      clearTimeout(timer);
      events.close();
    };
  }

  private url(path: string): string {
    return new URL(API + path, this.base).href;
  }

  private async get(path: string, signal?: AbortSignal): Promise<Response> {
    const response = await fetch(this.url(path), { signal: signal ?? null });
    if (!response.ok) throw await errorOf(response);
    return response;
  }
}
