// axe-core finds nothing to object to, in both themes; the page fits small and large windows.

import { readFileSync } from "node:fs";
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

/** What is 1280 × 800 to a reader who zooms to 200 %. */
const zoomed = { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 };

test.each([
  ["400 pixels wide, with details", { viewport: { width: 400, height: 800 } }, "i"],
  ["at 200 %", zoomed, ""],
])("the height of the timeline is told %s", async (_, options, key) => {
  const page = await open(server, "v=timeline", options);
  if (key) await page.keyboard.press(key);
  await page.locator('.stage canvas[data-settled="true"]').waitFor();
  expect((await page.locator(".stage").boundingBox())!.height).toBeGreaterThan(180);
  const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Shift+E")]);
  const texts = readFileSync(await file.path(), "utf8").matchAll(/<text[^>]*>(0|[\d.]+ [KMGT]?i?B)<\/text>/g);
  expect([...texts].length).toBeGreaterThanOrEqual(2);
});

test("at 200 % all of the page can be scrolled to", async () => {
  const page = await open(server, "v=timeline", zoomed);
  const { scrolled, height, shown } = await page.evaluate(() => {
    document.body.scrollTo(0, 1e6);
    document.documentElement.scrollTo(0, 1e6);
    const { bottom } = document.querySelector(".stage")!.getBoundingClientRect();
    const { top } = document.querySelector(".readout")!.getBoundingClientRect();
    return { scrolled: bottom, height: innerHeight, shown: top };
  });
  expect(shown).toBeLessThan(height);
  expect(scrolled).toBeLessThanOrEqual(shown + 1);
});

test.each([
  [1280, 800],
  [400, 800],
])("the settings of Tune are whole at %d × %d, with details", async (width, height) => {
  const page = await open(server, "v=tune", { viewport: { width, height } });
  const settings = page.getByRole("region", { name: "Settings" });
  await settings.locator("tbody tr").first().waitFor({ timeout: 60_000 });
  const last = settings.locator("tbody tr").first().getByRole("button");
  await last.scrollIntoViewIfNeeded();
  const [button, box] = [(await last.boundingBox())!, (await settings.boundingBox())!];
  expect(button.x + button.width).toBeLessThanOrEqual(box.x + box.width);
  if (width === 1280)
    expect(await settings.evaluate((each) => each.scrollWidth - each.clientWidth)).toBeLessThanOrEqual(0);
  const legend = (await page.locator(".chart + .legend").boundingBox())!;
  expect(legend.y + legend.height).toBeLessThanOrEqual(box.y);
});
