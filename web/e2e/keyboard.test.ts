// The whole page by keyboard alone, and what is heard of it.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashBecomes, open, readout, recording, type Server, serve, useBrowser, view } from "./world.ts";

let server: Server;

useBrowser();
beforeAll(async () => {
  server = await serve(recording("leak_eval_outputs-oom"), recording("vit"));
});
afterAll(() => server.stop());

function spoken(page: Page): Promise<string> {
  return page.locator("[aria-live=polite]").innerText();
}

test("each view has its number", async () => {
  const page = await open(server);
  for (const [index, name] of [
    "Timeline",
    "Map",
    "Moment",
    "Flame",
    "Tables",
    "Findings",
    "Compare",
    "Tune",
  ].entries()) {
    await page.keyboard.press(String(index + 1));
    await view(page, name);
    expect(await page.getByRole("navigation").locator("[aria-current=page]").innerText()).toContain(name);
  }
});

test("back goes to the view before, and forward to the one behind", async () => {
  const page = await open(server);
  const names = ["Timeline", "Map", "Moment", "Flame"];
  for (const [index, name] of names.entries()) {
    await page.keyboard.press(String(index + 1));
    await view(page, name);
  }
  for (const name of ["Moment", "Map", "Timeline"]) {
    await page.goBack();
    await view(page, name);
  }
  for (const name of ["Map", "Moment", "Flame"]) {
    await page.goForward();
    await view(page, name);
  }
});

test("zoom, move, fit; step, peak, mark", async () => {
  const page = await open(server);
  await page.keyboard.press("w");
  await hashBecomes(page, "r", /-/);
  await page.keyboard.press("Shift+D");
  await page.keyboard.press("0");
  await hashBecomes(page, "r", null);
  await page.keyboard.press("Shift+P");
  await page.keyboard.press("m");
  await hashBecomes(page, "m", /^\d+$/);
  await page.keyboard.press("p");
  const peak = await readout(page, "event");
  await page.keyboard.press(",");
  await expect.poll(() => readout(page, "event")).not.toBe(peak);
  await page.keyboard.press(".");
  await expect.poll(() => readout(page, "event")).toBe(peak);
});

test("from event to event of a block", async () => {
  const page = await open(server, "s=b50&e=0");
  const before = await readout(page, "event");
  await page.keyboard.press("]");
  await expect.poll(() => readout(page, "event")).not.toBe(before);
  const allocated = await readout(page, "event");
  await page.keyboard.press("[");
  await expect.poll(() => spoken(page)).toMatch(/no earlier event of this block/);
  expect(await readout(page, "event")).toBe(allocated);
});

test("the help lists every key, and Escape leaves it", async () => {
  const page = await open(server);
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys and help" });
  await help.waitFor();
  for (const words of ["Zoom in", "Search", "All commands", "Tune"])
    await help.getByText(words).first().waitFor();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
});

test("letters can be left to other software", async () => {
  const page = await open(server);
  await page.keyboard.press("?");
  await page.getByLabel("Single letters are keys of this page").focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("Escape");
  await page.keyboard.press("5");
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "All commands" }).waitFor();
  await view(page, "Timeline");
});

test("a command is found by its words and run", async () => {
  const page = await open(server);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("next out-of");
  await page.getByRole("listbox").getByRole("option").first().waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("show flame");
  await page.keyboard.press("Enter");
  await view(page, "Flame");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("vit");
  await page.keyboard.press("Enter");
  await expect
    .poll(() => page.getByLabel("Recording and device").locator("option:checked").innerText())
    .toContain("vit");
});

test("a query that is not understood is shown where it fails, a good one leads to its rows", async () => {
  const page = await open(server, "", { expected: /400/ });
  await page.keyboard.press("/");
  await page.keyboard.type("state:live size>>3");
  await page.locator("mark.fault").waitFor();
  expect(await page.locator("mark.fault").innerText()).toBe("size>>3");
  await page.keyboard.press("Escape");
  expect(await page.getByRole("searchbox").inputValue()).toBe("");
  await page.keyboard.type("state:live ");
  await page.getByText(/blocks? match/).waitFor();
  await page.keyboard.type("size>0");
  expect(await page.getByRole("searchbox").inputValue()).toBe("state:live size>0");
  await page.keyboard.press("Enter");
  await view(page, "Tables");
  await page
    .getByRole("main")
    .getByText(/\d of [\d,]+ blocks/)
    .waitFor();
  await expect.poll(() => spoken(page)).toMatch(/ of [\d,]+ blocks/);
});

test("a table is walked by arrows", async () => {
  const page = await open(server, "v=tables");
  const grid = page.getByRole("grid");
  await page.locator("#row-0").waitFor();
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => grid.getAttribute("aria-activedescendant")).toBe("row-1");
  await grid.focus();
  await page.keyboard.press("End");
  const last = Number(await grid.getAttribute("aria-rowcount")) - 2;
  await expect.poll(() => grid.getAttribute("aria-activedescendant")).toBe(`row-${last}`);
  await page.locator(`#row-${last}`).waitFor();
  await page.keyboard.press("Enter");
  await hashBecomes(page, "s", /^b\d+$/);
  await expect.poll(() => spoken(page)).toMatch(/^block /);
});

test("a flame graph and a moment are walked by arrows, and heard", async () => {
  const page = await open(server, "v=flame");
  await page.getByRole("application").waitFor();
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => spoken(page)).toMatch(/iB, [\d.>]+ %/);
  await page.keyboard.press("w");
  await hashBecomes(page, "f", /^\.0/);
  await page.keyboard.press("3");
  await page.getByText("blocks in").waitFor();
  await page.keyboard.press("ArrowRight");
  await hashBecomes(page, "s", /^b\d+$/);
  await expect.poll(() => spoken(page)).toMatch(/allocated|in use/);
  await page.keyboard.press("Escape");
  await hashBecomes(page, "s", null);
});

test("Tab goes through everything and comes round", async () => {
  const page = await open(server, "v=findings");
  await page.locator(".finding-head").first().waitFor();
  const seen = new Set<string>();
  for (let i = 0; i < 80 && !(seen.size > 10 && seen.has("end")); i++) {
    await page.keyboard.press("Tab");
    seen.add(
      await page.evaluate(() => {
        const { activeElement } = document;
        if (!activeElement || activeElement === document.body) return "end";
        return activeElement.className || activeElement.tagName;
      }),
    );
  }
  for (const part of ["device-switch", "tab", "finding-head"]) expect([...seen]).toContain(part);
});
