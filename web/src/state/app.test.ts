import { expect, test } from "vitest";
import type { Device, DeviceSummary, Recording, Session } from "../source/api.ts";
import { AnswerError, type Source } from "../source/source.ts";
import { App, findChoice, including } from "./app.ts";

function summary(dev: number, change: Partial<DeviceSummary> = {}): DeviceSummary {
  return {
    dev,
    device: dev,
    kind: "gpu",
    events: 10,
    peak_allocated_bytes: 1,
    peak_reserved_bytes: 1,
    verdict: { kind: "healthy", text: "" },
    ...change,
  };
}

function recording(id: string, change: Partial<Recording> = {}): Recording {
  return {
    id,
    index: 0,
    file: `${id}.pickle`,
    rank: null,
    state: "ready",
    progress: 1,
    error: null,
    changed: false,
    devices: [summary(0)],
    ...change,
  };
}

function session(...recordings: Recording[]): Session {
  return { version: "", build: "", recordings, ranks: null };
}

/** Answers every device with a hundred events, of which the 40th is the peak. */
function source(): Source {
  const info = { events: 100, peak: { allocated_event: 40, reserved_event: 50 } } as Device;
  return {
    live: true,
    json: async <T>(path: string) => {
      if (!path.startsWith("rec/")) throw new AnswerError(404, path);
      return info as T;
    },
    tile: () => Promise.reject(new AnswerError(404, "no tile")),
    progress: () => () => undefined,
  };
}

/** An app whose device is open. */
async function opened(hash: string, ...recordings: Recording[]): Promise<App> {
  const app = new App(source(), hash);
  app.session.value = session(...recordings);
  app.follow();
  await new Promise((done) => setTimeout(done, 0));
  return app;
}

test("it opens at the peak, over the whole, and its link says no more than the device", async () => {
  const app = await opened("", recording("aa"));
  expect(app.cursor.value).toBe(40);
  expect(app.range.value).toEqual({ from: 0, to: 100 });
  expect(app.link.value).toBe("#u=1&d=aa.0");
});

test("a link by place leads to what is there now, and is one by content from then on", async () => {
  const app = await opened("#u=1&v=map&d=@1.0", recording("aa"), recording("bb", { index: 1 }));
  expect(app.device.value?.ref.id).toBe("bb");
  expect(app.astray).toBe(false);
  expect(app.link.value).toBe("#u=1&v=map&d=bb.0");
});

test("a link's cursor and range wait for its device", async () => {
  const app = new App(source(), "#u=1&d=bb.0&e=7&r=5-9");
  app.session.value = session(recording("aa"), recording("", { state: "reading" }));
  app.follow();
  expect(app.choice.value).toBeNull();
  expect(app.link.value).toBe("#u=1&d=bb.0&r=5-9&e=7");
  app.session.value = session(recording("aa"), recording("bb"));
  await new Promise((done) => setTimeout(done, 0));
  expect(app.device.value?.ref.id).toBe("bb");
  expect([app.cursor.value, app.range.value]).toEqual([7, { from: 5, to: 9 }]);
});

test("a link to what is not open shows what is, and says so until a device is chosen", async () => {
  const app = await opened("#u=1&d=cc.0", recording("aa"));
  expect(app.device.value?.ref.id).toBe("aa");
  expect(app.astray).toBe(true);
  app.choose({ id: "aa", dev: 0 });
  expect(app.astray).toBe(false);
});

test("another device begins at its own peak, without what was selected", async () => {
  const app = await opened("#u=1&d=aa.0&e=3&s=b1&k=1-2", recording("aa"), recording("bb"));
  app.choose({ id: "bb", dev: 0 });
  await new Promise((done) => setTimeout(done, 0));
  expect(app.cursor.value).toBe(40);
  expect(app.selection.value).toBeNull();
  expect(app.markedEvents()).toBeNull();
});

test("the cursor stays within the recording, and brings the range along", async () => {
  const app = await opened("#u=1&r=0-10", recording("aa"));
  app.goTo(5000);
  expect(app.cursor.value).toBe(99);
  expect(app.range.value).toEqual({ from: 91, to: 101 });
  app.goTo(-9);
  expect(app.cursor.value).toBe(-1);
});

test("a range is moved no further than needed", () => {
  expect(including({ from: 10, to: 20 }, 15)).toEqual({ from: 10, to: 20 });
  expect(including({ from: 10, to: 20 }, 4)).toEqual({ from: 3, to: 13 });
  expect(including({ from: 10, to: 20 }, 30)).toEqual({ from: 22, to: 32 });
});

test("the first device is a GPU on which something happened", () => {
  const device = (id: string, change: Partial<DeviceSummary>) => ({
    ref: { id, dev: 0 },
    recording: recording(id),
    summary: summary(0, change),
  });
  const choices = [device("aa", { kind: "host" }), device("bb", { events: 0 }), device("cc", {})];
  expect(findChoice(choices, null, true)?.ref.id).toBe("cc");
  expect(findChoice(choices.slice(0, 2), null, true)?.ref.id).toBe("aa");
  expect(findChoice([], null, true)).toBeNull();
  expect(findChoice(choices, { id: "b", dev: 0 }, false)?.ref.id).toBe("bb");
  expect(findChoice(choices, { id: "dd", dev: 0 }, false)).toBeNull();
});

test("an action is done by whoever took it last, and given back", () => {
  const app = new App(source(), "");
  const done: string[] = [];
  const first = app.on("fit", () => done.push("page"));
  const second = app.on("fit", () => done.push("view"));
  app.act("fit");
  second();
  app.act("fit");
  first();
  expect(app.can("fit")).toBe(false);
  expect(app.act("fit")).toBe(false);
  expect(done).toEqual(["view", "page"]);
});

test("the same words are said again, and messages do not pile up", () => {
  const app = new App(source(), "");
  app.say("no further step");
  const once = app.spoken.value;
  app.say("no further step");
  expect(app.spoken.value).not.toBe(once);
  expect(app.spoken.value.trim()).toBe(once);
  for (let i = 0; i < 9; i++) app.toast(`message ${i}`);
  expect(app.toasts.value.map(({ text }) => text)).toEqual([
    "message 5",
    "message 6",
    "message 7",
    "message 8",
  ]);
});
