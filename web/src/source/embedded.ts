// Answers that an exported page holds: docs/formats/view-api.md, "The exported page".

import type { Session } from "./api.ts";
import { AnswerError, type Source } from "./source.ts";

const NOT_FOUND = 404;

/** The form of the data that this page reads. */
const FORM = 1;

export interface Index {
  readonly form: number;
  readonly made: string;
  readonly version: string;
  readonly redacted: boolean;
  readonly max_bytes: number;
  /** Where each answer lies: offset behind the index, and length. */
  readonly answers: Readonly<Record<string, readonly [number, number]>>;
  readonly tiles: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly left_out: readonly string[];
}

/** A path as the index names it: parameters in alphabetical order, each value encoded. */
export function canonical(path: string): string {
  const [name, query] = path.split("?", 2) as [string, string | undefined];
  if (!query) return name;
  const pairs = [...new URLSearchParams(query)].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `${name}?${pairs.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`;
}

async function gunzip(packed: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function parse(json: ArrayBuffer): unknown {
  return JSON.parse(new TextDecoder().decode(json));
}

/** Unpacks the index. The answers behind it stay packed until they are asked for. */
export async function unpack(base64: string): Promise<{ index: Index; answers: Uint8Array<ArrayBuffer> }> {
  const bytes = Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const index = parse(await gunzip(bytes.subarray(4, 4 + length))) as Index;
  if (index.form !== FORM) throw new Error(`the data in this page has form ${index.form}, want ${FORM}`);
  return { index, answers: bytes.subarray(4 + length) };
}

export class EmbeddedSource implements Source {
  readonly live = false;

  constructor(
    /** What the page says of itself: when it was made, and what was left out. */
    readonly index: Index,
    private readonly answers: Uint8Array<ArrayBuffer>,
  ) {}

  async json<T>(path: string): Promise<T> {
    return parse(await gunzip(this.find(path))) as T;
  }

  async tile(path: string): Promise<ArrayBuffer> {
    return gunzip(this.find(path));
  }

  progress(onChange: (session: Session) => void): () => void {
    let wanted = true;
    void this.json<Session>("session").then((session) => wanted && onChange(session));
    return () => {
      wanted = false;
    };
  }

  private find(path: string): Uint8Array<ArrayBuffer> {
    const place = this.index.answers[canonical(path)];
    if (!place)
      throw new AnswerError(
        NOT_FOUND,
        "this page was saved without it; open the recording with ullage view to see it",
      );
    return this.answers.subarray(place[0], place[0] + place[1]);
  }
}
