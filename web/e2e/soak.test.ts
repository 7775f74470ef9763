// A long way through a recording by pan and zoom: nothing is ever blank, no answer is large,
// and the page holds no more than it may. Rates of frames are not looked at: a busy machine
// has none to promise.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open, recording, type Server, serve, useBrowser } from "./world.ts";

/** What a page may hold, in bytes: JavaScript's own, and the tiles. */
const MOST_HELD = 100 << 20;

const MOST_TILE_BYTES = 2 << 20;

let server: Server;

useBrowser();
beforeAll(async () => {
  server = await serve(recording("bert_varlen-lim16"));
});
afterAll(() => server.stop());

/** Notes how many tiles came, and how large the largest was. */
function watchTiles(page: Page): { count: number; largest: number } {
  const seen = { count: 0, largest: 0 };
  page.on("requestfinished", async (request) => {
    if (!request.url().includes("/tile/")) return;
    const { responseBodySize } = await request.sizes();
    seen.count++;
    seen.largest = Math.max(seen.largest, responseBodySize);
  });
  return seen;
}

/** Colours in the lowest row of the plot, where always something is allocated: the surface's own would be a hole. */
function holes(page: Page): Promise<number> {
  return page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>(".stage canvas")!;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d")!;
    copy.drawImage(canvas, 0, 0);
    const row = copy.getImageData(80, canvas.height - 14, canvas.width - 80 - 16, 1).data;
    let count = 0;
    for (let i = 0; i < row.length; i += 4)
      if (row[i] === 255 && row[i + 1] === 255 && row[i + 2] === 255) count++;
    return count;
  });
}

async function held(page: Page): Promise<number> {
  const tools = await page.context().newCDPSession(page);
  await tools.send("HeapProfiler.collectGarbage");
  const { usedSize, ...rest } = await tools.send("Runtime.getHeapUsage");
  return usedSize + ((rest as { backingStorageSize?: number }).backingStorageSize ?? 0);
}

test.each([
  ["timeline", "x=events"],
  ["timeline by time", "x=time"],
])("%s", async (_, hash) => {
  const page = await open(server, `${hash}&r=3000-40000`, { colorScheme: "light" });
  const tiles = watchTiles(page);
  await page.locator('.stage canvas[data-settled="true"]').waitFor();
  await page.locator(".stage .above").hover({ position: { x: 400, y: 200 } });
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press(["w", "d", "w", "d", "a", "s"][i % 6]!);
    expect(await holes(page), `after ${i} keys`).toBe(0);
  }
  expect(tiles.largest).toBeLessThanOrEqual(MOST_TILE_BYTES);
  expect(tiles.count).toBeGreaterThan(10);
  expect(await held(page)).toBeLessThan(MOST_HELD);
});

test("map", async () => {
  const page = await open(server, "v=map");
  const tiles = watchTiles(page);
  await page.locator('.stage canvas[data-settled="true"]').waitFor();
  await page.locator(".stage .above").hover({ position: { x: 400, y: 300 } });
  for (let i = 0; i < 60; i++) {
    await page.mouse.wheel(0, i % 20 < 12 ? -120 : 150);
    if (i % 3 === 0) await page.keyboard.press(i % 2 ? "ArrowDown" : "d");
  }
  await page.locator('.stage canvas[data-settled="true"]').waitFor();
  expect(tiles.largest).toBeLessThanOrEqual(MOST_TILE_BYTES);
  expect(await held(page)).toBeLessThan(MOST_HELD);
});
