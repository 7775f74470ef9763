// The page shows the numbers that `ullage explain` prints.

import { afterAll, beforeAll, expect, test } from "vitest";
import { formatBytes, formatCount } from "../src/units/units.ts";
import {
  newPage,
  open,
  readout,
  ready,
  recording,
  run,
  type Server,
  serve,
  useBrowser,
  view,
} from "./world.ts";

const file = recording("bert_varlen-lim16");
let server: Server;

useBrowser();
beforeAll(async () => {
  server = await serve(file);
});
afterAll(() => server.stop());

const explained = () => JSON.parse(run("explain", "--json", "--by", "line", "--top", "-1", file)).devices[0];

test("it opens on the timeline, at the peak, with the verdict", async () => {
  const page = await open(server);
  await view(page, "Timeline");
  const { peak, verdict, events } = explained();
  expect(await readout(page, "event")).toBe(`${formatCount(peak.allocated_event)} of ${formatCount(events)}`);
  expect(await readout(page, "allocated")).toBe(formatBytes(peak.allocated_bytes));
  expect(await page.locator(".verdict-chip").getAttribute("title")).toBe(verdict.text);
});

test("the table of sites holds what explain lists by line", async () => {
  const page = await open(server, "v=tables&t=sites");
  await page.locator(".grid-row:not(.head)").first().waitFor();
  const titles = await page.locator("[role=columnheader]").allInnerTexts();
  const held = titles.findIndex((title) => title.trim().startsWith("holds"));
  const site = titles.findIndex((title) => title.trim() === "site");
  const rows = await page.locator(".grid-row:not(.head)").all();
  const shown = await Promise.all(
    rows.map(async (row) => {
      const cells = await row.locator("[role=gridcell]").allInnerTexts();
      return [cells[site], cells[held]];
    }),
  );
  const { groups } = explained().holders;
  expect(groups.length).toBeGreaterThan(2);
  for (const { name, bytes } of groups) expect(shown).toContainEqual([name, formatBytes(bytes)]);
});

test("the findings are those of explain, and each leads to where it shows", async () => {
  const page = await open(server, "v=findings");
  const { findings, verdict } = explained();
  await page.getByText(verdict.text, { exact: true }).waitFor();
  const titles = await page.locator(".finding-title").allInnerTexts();
  expect(titles.slice(0, findings.length)).toEqual(findings.map(({ title }: { title: string }) => title));
  const [first] = findings;
  for (const text of first.evidence) expect(await page.locator(".finding-body").innerText()).toContain(text);
  await page.getByText("About this rule").first().click();
  await page.locator(".markdown h4").first().waitFor();
  await page.getByRole("button", { name: "as a moment" }).click();
  await view(page, "Moment");
  await expect.poll(() => readout(page, "event")).toMatch(new RegExp(`^${formatCount(first.event)} of`));
  await page.goBack();
  await view(page, "Findings");
});

test("tune shows the settings that were replayed, the recorded one among them", async () => {
  const page = await open(server, "v=tune");
  await page.locator(".list tbody tr").first().waitFor({ timeout: 60_000 });
  const rows = await page.locator(".list tbody tr").allInnerTexts();
  expect(rows.some((row) => row.includes("as recorded"))).toBe(true);
  expect(rows.some((row) => row.includes("expandable_segments:True"))).toBe(true);
  const tuned = explained().findings[0].remedies[0].effect as string;
  const reserved = /at most ([\d.]+ GiB)/.exec(tuned)?.[1];
  expect(rows.find((row) => row.startsWith("expandable_segments:True\t"))).toContain(reserved);
});

test("the command that is copied prints what is shown", async () => {
  const page = await open(server, "v=timeline");
  await page.keyboard.press("c");
  await page.getByText("command copied").waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  expect(command).toMatch(/^ullage explain --at e\d+ /);
  const event = Number(/e(\d+)/.exec(command)?.[1]);
  expect(await readout(page, "event")).toMatch(new RegExp(`^${formatCount(event)} of`));
  const [, ...args] = command.split(" ");
  expect(run(...args)).toContain(await readout(page, "allocated"));
});

test("two tabs do not disturb each other", async () => {
  const one = await open(server, "v=moment&e=100");
  const two = await one.context().newPage();
  await two.goto(`${server.url}#u=1&v=moment&e=200`);
  await ready(two);
  await one.bringToFront();
  await one.keyboard.press(".");
  await expect.poll(() => readout(one, "event")).toMatch(/^101 of/);
  expect(await readout(two, "event")).toMatch(/^200 of/);
});

test("a page at a device that is not there shows one that is", async () => {
  const page = await newPage();
  await page.goto(`${server.url}#u=1&d=ffffffffffff.3`);
  await ready(page);
  await page.getByText("The link leads to a recording that is not open here.").waitFor();
});
