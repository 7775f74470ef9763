import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import { canonical, EmbeddedSource, unpack } from "./embedded.ts";
import { HTTPSource } from "./http.ts";
import { AnswerError } from "./source.ts";

/** The data of an exported page that holds these answers, as view-api.md lays it out. */
function exported(answers: Record<string, string | Uint8Array>, form = 1): string {
  const places: Record<string, [number, number]> = {};
  const packed: Buffer[] = [];
  let at = 0;
  for (const [path, content] of Object.entries(answers)) {
    const bytes = gzipSync(content);
    places[path] = [at, bytes.length];
    packed.push(bytes);
    at += bytes.length;
  }
  const index = gzipSync(JSON.stringify({ form, answers: places, tiles: {}, left_out: [] }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(index.length);
  return Buffer.concat([length, index, ...packed]).toString("base64");
}

describe("an exported page", () => {
  const tile = new Uint8Array([85, 76, 76, 84, 0, 255]);
  const data = exported({
    session: '{"version":"v1"}',
    "rec/ab/0/moment?event=7": '{"event":7}',
    "rec/ab/0/tile/counters/3/0": tile,
  });

  async function open(): Promise<EmbeddedSource> {
    const { index, answers } = await unpack(data);
    return new EmbeddedSource(index, answers);
  }

  test("answers what it holds", async () => {
    const source = await open();
    expect(await source.json("rec/ab/0/moment?event=7")).toEqual({ event: 7 });
    expect(new Uint8Array(await source.tile("rec/ab/0/tile/counters/3/0"))).toEqual(tile);
  });

  test("says of the rest that it is not there", async () => {
    const source = await open();
    await expect(source.json("rec/ab/0/moment?event=8")).rejects.toMatchObject({ status: 404 });
    await expect(source.tile("rec/ab/0/tile/counters/0/9")).rejects.toBeInstanceOf(AnswerError);
  });

  test("tells the session once, unless nobody listens any more", async () => {
    const source = await open();
    const told = vi.fn();
    source.progress(told);
    source.progress(() => expect.unreachable())();
    await vi.waitFor(() => expect(told).toHaveBeenCalledWith({ version: "v1" }));
  });

  test("of another form is refused", async () => {
    await expect(unpack(exported({}, 2))).rejects.toThrow("form 2");
  });
});

test.each([
  ["session", "session"],
  ["a?z=1&b=2", "a?b=2&z=1"],
  ["a?q=size>64MiB file:x", "a?q=size%3E64MiB%20file%3Ax"],
  ["a?q=size%3E64MiB+x", "a?q=size%3E64MiB%20x"],
])("%s is called %s", (path, want) => expect(canonical(path)).toBe(want));

describe("a server", () => {
  afterEach(() => vi.unstubAllGlobals());

  const answering = (response: () => Response) => {
    const fetched = vi.fn(async (_url: string, _init?: RequestInit) => response());
    vi.stubGlobal("fetch", fetched);
    return { fetched, source: new HTTPSource("http://127.0.0.1:7/") };
  };

  test("is asked below its own address", async () => {
    const { fetched, source } = answering(() => Response.json({ event: 7 }));
    const abort = new AbortController();
    expect(await source.json("rec/ab/0/moment?event=7", abort.signal)).toEqual({ event: 7 });
    expect(fetched).toHaveBeenCalledWith("http://127.0.0.1:7/api/v1/rec/ab/0/moment?event=7", {
      signal: abort.signal,
    });
  });

  test("an error has the server's words", async () => {
    const { source } = answering(() =>
      Response.json({ error: { message: "no such event" } }, { status: 404 }),
    );
    await expect(source.json("x")).rejects.toMatchObject({ status: 404, message: "no such event" });
  });

  test("an error without words has its status", async () => {
    const { source } = answering(() => new Response("<html>", { status: 502 }));
    await expect(source.tile("x")).rejects.toThrow("502");
  });
});

describe("the session of a server", () => {
  /** An EventSource that the test speaks through. */
  class Stream extends EventTarget {
    static last: Stream;
    closed = false;
    constructor(readonly url: string) {
      super();
      Stream.last = this;
    }
    close(): void {
      this.closed = true;
    }
  }

  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  function listen() {
    vi.useFakeTimers();
    const page = Object.assign(new EventTarget(), { hidden: false });
    vi.stubGlobal("document", page);
    vi.stubGlobal("EventSource", Stream);
    const sessions = vi.fn();
    const lost = vi.fn();
    const stop = new HTTPSource("http://127.0.0.1:7/").progress(sessions, lost);
    const show = (shown: boolean) => {
      page.hidden = !shown;
      page.dispatchEvent(new Event("visibilitychange"));
    };
    return { sessions, lost, stop, show, stream: Stream.last };
  }

  test("is told at every change", () => {
    const { sessions, stream } = listen();
    stream.dispatchEvent(Object.assign(new Event("session"), { data: '{"build":"b"}' }));
    expect(stream.url).toBe("http://127.0.0.1:7/api/v1/progress");
    expect(sessions).toHaveBeenCalledWith({ build: "b" });
  });

  test("counts as lost only when the stream stays broken, and as found when it is open again", () => {
    const { lost, stream } = listen();
    stream.dispatchEvent(new Event("error"));
    stream.dispatchEvent(new Event("open"));
    vi.advanceTimersByTime(60_000);
    expect(lost).not.toHaveBeenCalledWith(true);
    stream.dispatchEvent(new Event("error"));
    stream.dispatchEvent(new Event("error"));
    vi.advanceTimersByTime(3_000);
    expect(lost.mock.calls.filter(([is]) => is)).toHaveLength(1);
    stream.dispatchEvent(new Event("open"));
    expect(lost).toHaveBeenLastCalledWith(false);
  });

  test("takes no connection while nobody looks at the page", () => {
    const { sessions, show, stop, stream } = listen();
    show(false);
    expect(stream.closed).toBe(true);
    show(true);
    show(true);
    expect(Stream.last).not.toBe(stream);
    Stream.last.dispatchEvent(Object.assign(new Event("session"), { data: '{"build":"b"}' }));
    expect(sessions).toHaveBeenCalledTimes(1);
    stop();
    expect(Stream.last.closed).toBe(true);
    show(false);
    show(true);
    expect(Stream.last.closed).toBe(true);
  });

  test("is not listened to any more once that was asked", () => {
    const { lost, stop, stream } = listen();
    stream.dispatchEvent(new Event("error"));
    stop();
    vi.advanceTimersByTime(60_000);
    expect(stream.closed).toBe(true);
    expect(lost).not.toHaveBeenCalledWith(true);
  });
});
