// What a pointer does in the views.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  hashBecomes,
  hashOf,
  open,
  readout,
  recording,
  type Server,
  serve,
  useBrowser,
  view,
} from "./world.ts";

let server: Server;

useBrowser();
beforeAll(async () => {
  server = await serve(recording("ddp-rank0"), recording("ddp-rank1"));
});
afterAll(() => server.stop());

test("the timeline is zoomed by the wheel, marked by dragging, and clicked", async () => {
  const page = await open(server);
  const box = (await page.locator(".timeline canvas").first().boundingBox())!;
  const at = (x: number, y: number) => [box.x + x * box.width, box.y + y * box.height] as const;
  await page.mouse.move(...at(0.5, 0.6));
  await page.mouse.wheel(0, -300);
  await hashBecomes(page, "r", /^[\d.]+-[\d.]+$/);
  await page.mouse.move(...at(0.4, 0.6));
  await page.mouse.down();
  await page.mouse.move(...at(0.6, 0.6), { steps: 5 });
  await page.mouse.up();
  await hashBecomes(page, "k", /^\d+-\d+$/);
  await page.getByRole("heading", { name: "Marked range" }).waitFor();
  const before = await readout(page, "event");
  await page.mouse.click(...at(0.45, 0.8));
  await expect.poll(() => readout(page, "event")).not.toBe(before);
});

test("a block of the map and a block of a moment can be selected", async () => {
  const page = await open(server, "v=moment");
  const area = page.getByRole("application");
  await area.waitFor();
  await page.getByText("blocks in").waitFor();
  await area.click({ position: { x: 40, y: 60 } });
  await hashBecomes(page, "s", /^(b\d+|0x[0-9a-f]+)$/);
  await page.getByRole("complementary", { name: "Details" }).getByText("size").first().waitFor();
});

test("a moment's list says what its picture shows", async () => {
  const page = await open(server, "v=moment");
  const words = await page.getByText(/blocks in \d+ segments/).innerText();
  await page.getByText("list", { exact: true }).click();
  const rows = await page.locator(".list tbody tr").count();
  expect(words).toContain(`in ${rows} segment`);
});

test("a call of the flame graph is zoomed to, and back", async () => {
  const page = await open(server, "v=flame");
  const area = page.getByRole("application");
  await area.waitFor();
  await area.click({ position: { x: 20, y: 30 } });
  await hashBecomes(page, "f", /^\.[\d.]+$/);
  await page.keyboard.press("0");
  await hashBecomes(page, "f", null);
  await page.getByLabel("inverted").check();
  await hashBecomes(page, "f", /^i/);
  await page.getByLabel("library frames").uncheck();
  await hashBecomes(page, "f", /^iu/);
});

test("two ranks are compared, on one axis and by site", async () => {
  const page = await open(server, "v=compare");
  await page.getByRole("heading", { name: /From A to B/ }).waitFor();
  expect(await page.locator(".chart path").count()).toBe(4);
  const ranks = page.getByRole("region", { name: "All devices" }).locator("tbody tr");
  await expect.poll(() => ranks.count()).toBe(2);
  await page.getByRole("button", { name: /ddp-rank1.* as A/ }).click();
  await expect.poll(() => page.getByLabel("Recording and device").inputValue()).toMatch(/\/0$/);
  await page.getByText(/^A rank 1/).waitFor();
});

test("tables are sorted by a click, and a row selects its block", async () => {
  const page = await open(server, "v=tables");
  const size = page.getByRole("columnheader", { name: /^size/ });
  await expect.poll(() => size.getAttribute("aria-sort")).toBe("descending");
  await size.getByRole("button").click();
  await expect.poll(() => size.getAttribute("aria-sort")).toBe("ascending");
  await hashBecomes(page, "o", /^size_bytes$/);
  await page.locator(".grid-row:not(.head)").nth(3).click();
  await hashBecomes(page, "s", /^b\d+$/);
  await page.getByRole("heading", { name: "Block" }).waitFor();
  const drawn = await page.locator(".grid-row").count();
  expect(drawn).toBeLessThan(80);
});

test.each(["timeline", "map", "moment", "flame", "compare"])(
  "%s is saved as PNG and as SVG",
  async (name) => {
    const page = await open(server, `v=${name}`);
    await page.locator("main [role=status]").waitFor({ state: "detached" });
    await page.locator(".chart path, main canvas").first().waitFor();
    const save = async (keys: string) => {
      const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press(keys)]);
      return { name: file.suggestedFilename(), content: readFileSync(await file.path()) };
    };
    const png = await save("e");
    expect(png.name).toMatch(new RegExp(`^${name}.*\\.png$`));
    expect(png.content.subarray(1, 4).toString()).toBe("PNG");
    const svg = await save("Shift+E");
    expect(svg.name).toMatch(new RegExp(`^${name}.*\\.svg$`));
    expect(svg.content.toString()).toMatch(/^<svg /);
    expect(svg.content.toString()).not.toMatch(/var\(|light-dark|NaN|undefined/); // what only the page knows
  },
);

test("rows are saved as CSV, in bytes", async () => {
  const page = await open(server, "v=tables&t=segments");
  await page.locator("#row-0").waitFor();
  const rows = Number(await page.getByRole("grid").getAttribute("aria-rowcount")) - 1;
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: /CSV/ }).click(),
  ]);
  const lines = readFileSync(await file.path(), "utf8")
    .trimEnd()
    .split("\r\n");
  expect(lines).toHaveLength(rows + 1);
  expect(lines[0]).toMatch(/^address,size_bytes,/);
  expect(lines[1]).toMatch(/^0x[0-9a-f]+,\d+,/);
});

test("a link leads another reader to the same place", async () => {
  const page = await open(server, "v=tables&t=events&q=action:alloc&e=1234&s=b7&r=10-5000&m=5.9");
  await page.keyboard.press("l");
  await page.getByText("link copied").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const other = await open(server);
  await other.goto("about:blank");
  await other.goto(link);
  await view(other, "Tables");
  for (const [key, value] of [
    ["v", "tables"],
    ["t", "events"],
    ["q", "action:alloc"],
    ["e", "1234"],
    ["s", "b7"],
    ["r", "10-5000"],
    ["m", "5.9"],
  ] as const)
    expect(hashOf(other).get(key), key).toBe(value);
  await expect.poll(() => readout(other, "event")).toMatch(/^1,234 of/);
  await expect.poll(() => readout(other, "allocated")).toBe(await readout(page, "allocated"));
});
