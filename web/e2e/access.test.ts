// axe-core finds nothing to object to, in both themes; the page fits small and large windows.

import { afterAll, beforeAll, expect, test } from "vitest";
import { views } from "../src/state/hash.ts";
import { open, recording, type Server, serve, useBrowser, violations } from "./world.ts";

let server: Server;

useBrowser();
beforeAll(async () => {
  server = await serve(recording("ddp-rank0"), recording("ddp-rank1"));
});
afterAll(() => server.stop());

/** axe-core is put into the page as a script, which the page's own policy would refuse. */
const forAxe = { bypassCSP: true };

for (const colorScheme of ["light", "dark"] as const) {
  test.each(views)(`${colorScheme}: %s and its list`, async (view) => {
    const page = await open(server, `v=${view}&s=b9`, { colorScheme, ...forAxe });
    await page.locator("main [role=status]").waitFor({ state: "detached" }); // what is loading says so
    expect(await violations(page)).toEqual([]);
    await page.goto(`${server.url}#u=1&v=${view}&p=1&k=10-900`);
    await page.getByRole("heading", { name: "Marked range" }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test(`${colorScheme}: dialogs and the search box`, async () => {
    const page = await open(server, "", { colorScheme, ...forAxe, expected: /400/ });
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("colour:red");
    await page.locator("mark.fault").waitFor();
    expect(await violations(page)).toEqual([]);
  });
}

test("pictures keep their colours where the system chooses all others", async () => {
  for (const view of ["timeline", "moment"]) {
    const page = await open(server, `v=${view}`, { forcedColors: "active" });
    await page.locator("main [role=status]").waitFor({ state: "detached" });
    await expect.poll(() => page.locator("main canvas").first().evaluate(coloursOf)).toBeGreaterThan(5);
  }
});

/** How many colours a canvas shows, made smaller. */
function coloursOf(canvas: Element): number {
  const copy = document.createElement("canvas");
  copy.width = 100;
  copy.height = 100;
  const context = copy.getContext("2d")!;
  context.drawImage(canvas as HTMLCanvasElement, 0, 0, copy.width, copy.height);
  return new Set(new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer)).size;
}

test.each([
  [400, 800],
  [3840, 2160],
])("nothing is cut off at %d × %d", async (width, height) => {
  for (const view of views) {
    const page = await open(server, `v=${view}`, { viewport: { width, height } });
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(beyond, view).toBeLessThanOrEqual(0);
    const main = (await page.getByRole("main").boundingBox())!;
    expect(main.height, `${view} has room`).toBeGreaterThan(height / 3);
    await page.context().close();
  }
});
