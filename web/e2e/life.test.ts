// What comes to a page that stays open: its server goes and comes back, its file is replaced; and a page without a server.

import { copyFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { formatBytes } from "../src/units/units.ts";
import { newPage, open, readout, recording, run, scratch, serve, useBrowser, view } from "./world.ts";

useBrowser();
const folder = scratch();

test("a page says that its server has gone, and goes on when it is back", async () => {
  const first = await serve(recording("vit"));
  const page = await open(first, "", { expected: /ERR_|Failed to fetch/ });
  await first.stop();
  const banner = page.getByText("The server does not answer.");
  await banner.waitFor();
  const second = await serve("--port", new URL(first.url).port, recording("vit"));
  try {
    await banner.waitFor({ state: "detached", timeout: 60_000 });
    await page.keyboard.press("3");
    await page.getByText("blocks in").waitFor();
  } finally {
    await second.stop();
  }
});

test("a page whose file was replaced offers to reload, and shows the new one then", async () => {
  const file = join(folder, "run.pickle.xz");
  copyFileSync(recording("vit"), file);
  const server = await serve(file);
  try {
    const page = await open(server);
    copyFileSync(recording("resnet50"), file);
    const later = new Date(statSync(file).mtimeMs + 5000);
    utimesSync(file, later, later); // some file systems keep whole seconds
    const reload = page.getByRole("button", { name: "Reload the page" });
    await reload.waitFor({ timeout: 60_000 });
    await page.keyboard.press("3");
    await view(page, "Moment");
    await reload.click();
    const { peak } = JSON.parse(run("explain", "--json", recording("resnet50"))).devices[0];
    await expect
      .poll(() => readout(page, "allocated"), { timeout: 60_000 })
      .toBe(formatBytes(peak.allocated_bytes));
    await view(page, "Moment");
    expect(await page.locator(".banner").count()).toBe(0);
  } finally {
    await server.stop();
  }
});

test("a recording of a failure alone has no map, and says so", async () => {
  const file = join(folder, "failure.json");
  const failure = {
    action: "oom",
    addr: 0,
    size: 1 << 30,
    stream: 0,
    device_free: 0,
    time_us: 1,
    frames: [],
  };
  writeFileSync(file, JSON.stringify({ segments: [], device_traces: [[failure]] }));
  const server = await serve(file);
  try {
    const page = await open(server);
    await page.keyboard.press("2");
    await page.getByText("This recording has no segments").waitFor();
  } finally {
    await server.stop();
  }
});

test("a recording that cannot be read is named, and the others are shown", async () => {
  const broken = join(folder, "broken.pickle");
  copyFileSync(join(import.meta.dirname, "world.ts"), broken);
  const server = await serve(recording("vit"), broken);
  try {
    const page = await open(server);
    await page.getByText(/broken\.pickle could not be read/).waitFor();
  } finally {
    await server.stop();
  }
});

test("an exported page works from disk, with no network at all", async () => {
  const file = join(folder, "page.html");
  run("view", "--export", file, "--max-size", "4MB", recording("bert_varlen-lim16"));
  const page = await newPage({ offline: true, expected: /saved without it/ });
  await page.goto(pathToFileURL(file).href);
  await view(page, "Timeline");
  await page.getByText("ullage view --export").first().waitFor();
  const { peak, findings } = JSON.parse(run("explain", "--json", recording("bert_varlen-lim16"))).devices[0];
  await page.keyboard.press("6");
  await page.getByText(findings[0].title, { exact: true }).waitFor();
  await page.keyboard.press("3");
  await page.getByText("blocks in").waitFor();
  await page.keyboard.press("4");
  await page.getByText(formatBytes(peak.allocated_bytes)).first().waitFor();
  await page.keyboard.press("5");
  await page.locator("#row-0").waitFor();
  await page.keyboard.press("2");
  await view(page, "Map");
});

test("an exported page without paths holds none", async () => {
  const file = join(folder, "redacted.html");
  run("view", "--export", file, "--redact", recording("vit"));
  const page = await newPage({ offline: true, expected: /saved without it/ });
  await page.goto(pathToFileURL(file).href);
  await page.getByText("without paths").waitFor();
  await page.keyboard.press("4");
  await page.getByRole("application").waitFor();
  expect(await page.content()).not.toContain("/workspace/");
  expect(await readout(page, "event")).toMatch(/ of /);
});
