import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AnswerError, type Source } from "../source/source.ts";
import { along } from "./address.ts";
import { TileStore } from "./store.ts";

const counters = { kind: "counters" } as const;
const file = readFileSync(new URL("../../../internal/lod/testdata/tiles/counters.tile", import.meta.url));
const bytes = () => file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;

/** A source whose answers come when the test gives them. */
class Slow implements Source {
  readonly live = true;
  readonly asked = new Map<
    string,
    { give: () => void; fail: (error: Error) => void; aborted: () => boolean }
  >();
  readonly order: string[] = [];

  tile(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
    const name = path.replace("rec/ab/0/tile/", "");
    this.order.push(name);
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
      this.asked.set(name, {
        give: () => resolve(bytes()),
        fail: reject,
        aborted: () => signal?.aborted ?? false,
      });
    });
  }

  json<T>(): Promise<T> {
    throw new Error("tiles are no JSON");
  }

  progress(): () => void {
    throw new Error("tiles have no progress");
  }
}

/** Lets promises that are settled go on. */
const settle = async () => {
  for (let i = 0; i < 8; i++) await Promise.resolve();
};

let source: Slow;
let changes: number;
let store: TileStore;

beforeEach(() => {
  vi.useFakeTimers();
  source = new Slow();
  changes = 0;
  store = new TileStore(source, "rec/ab/0", { level: 5, levelY: 0 }, () => changes++);
});

afterEach(() => {
  store.close();
  vi.useRealTimers();
});

async function give(name: string): Promise<void> {
  source.asked.get(name)!.give();
  await settle();
}

describe("a store", () => {
  test("asks for the coarsest tile first, then for what is shown, its parents, and what may come", () => {
    store.want("lines", counters, [along(2, 3)], [along(2, 4)]);
    expect(source.order).toEqual(["counters/5/0", "counters/2/3", "counters/3/1", "counters/2/4"]);
  });

  test("has no more than six requests on their way", async () => {
    store.want(
      "lines",
      counters,
      Array.from({ length: 10 }, (_, i) => along(0, i)),
      [],
    );
    expect(source.order).toHaveLength(6);
    await give("counters/5/0");
    expect(source.order).toHaveLength(7);
  });

  test("draws the coarsest tile until a finer one has come, then that", async () => {
    store.want("lines", counters, [along(2, 3)], []);
    expect(store.find(counters, along(2, 3))).toBeNull();
    await give("counters/5/0");
    expect(store.find(counters, along(2, 3))).toMatchObject({ exact: false, place: { level: 5, i: 0 } });
    await give("counters/3/1");
    expect(store.find(counters, along(2, 3))).toMatchObject({ exact: false, place: { level: 3, i: 1 } });
    await give("counters/2/3");
    expect(store.find(counters, along(2, 3))).toMatchObject({ exact: true });
    expect(changes).toBe(3);
    expect(store.settled).toBe(true);
  });

  test("gives up what is not wanted any more, and asks for it again when it is", async () => {
    store.want("lines", counters, [along(2, 3)], []);
    const first = source.asked.get("counters/2/3")!;
    store.want("lines", counters, [along(2, 9)], []);
    expect(first.aborted()).toBe(true);
    await settle();
    store.want("lines", counters, [along(2, 3)], []);
    expect(source.order.filter((name) => name === "counters/2/3")).toHaveLength(2);
  });

  test("keeps what another asker still wants", () => {
    store.want("lines", counters, [along(2, 3)], []);
    store.want("minimap", counters, [along(5, 0)], []);
    store.leave("lines");
    expect(source.asked.get("counters/5/0")!.aborted()).toBe(false);
    expect(source.asked.get("counters/2/3")!.aborted()).toBe(true);
  });

  test("does not ask again for a tile that is not there", async () => {
    store.want("lines", counters, [along(2, 3)], []);
    source.asked.get("counters/2/3")!.fail(new AnswerError(404, "no such tile"));
    await settle();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(source.order.filter((name) => name === "counters/2/3")).toHaveLength(1);
  });

  test("asks again, after a rest, for one that could not be fetched", async () => {
    store.want("lines", counters, [along(2, 3)], []);
    source.asked.get("counters/2/3")!.fail(new TypeError("failed to fetch"));
    await settle();
    expect(source.order.filter((name) => name === "counters/2/3")).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(3000);
    expect(source.order.filter((name) => name === "counters/2/3")).toHaveLength(2);
  });
});
