// The timeline and the map under a pointer, fingers and keys.

import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashBecomes, hashOf, open, recording, run, type Server, serve, useBrowser } from "./world.ts";

let server: Server;

useBrowser();
beforeAll(async () => {
  server = await serve(recording("bert_varlen-lim16"));
});
afterAll(() => server.stop());

/** The picture, once all that it shows has come. */
async function settled(page: Page): Promise<Locator> {
  await page.locator('.stage canvas[data-settled="true"]').waitFor();
  return page.locator(".stage .above");
}

/** A point of the picture, in shares of it, on the page. */
async function at(picture: Locator, x: number, y: number): Promise<[number, number]> {
  const box = (await picture.boundingBox())!;
  return [box.x + x * box.width, box.y + y * box.height];
}

/** The range that the address holds, as numbers. */
async function range(page: Page): Promise<{ from: number; to: number }> {
  await hashBecomes(page, "r", /./);
  const [from, to] = hashOf(page).get("r")!.split("-").map(Number) as [number, number];
  return { from, to };
}

const width = ({ from, to }: { from: number; to: number }) => to - from;

describe("the timeline", () => {
  test("is moved by Space and a drag, and by the middle button, without marking", async () => {
    const page = await open(server, "r=20000-30000");
    const picture = await settled(page);
    await picture.focus();
    await page.keyboard.down("Space");
    await page.mouse.move(...(await at(picture, 0.7, 0.6)));
    await page.mouse.down();
    await page.mouse.move(...(await at(picture, 0.5, 0.6)), { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Space");
    await expect.poll(async () => (await range(page)).from).toBeGreaterThan(21_000);
    const before = (await range(page)).from;
    await page.mouse.down({ button: "middle" });
    await page.mouse.move(...(await at(picture, 0.7, 0.6)), { steps: 4 });
    await page.mouse.up({ button: "middle" });
    await expect.poll(async () => (await range(page)).from).toBeLessThan(before - 1000);
    expect(width(await range(page))).toBeCloseTo(10_000, 0);
    expect(hashOf(page).get("k")).toBeNull();
  });

  test("is zoomed by two fingers, about the point between them", async () => {
    const page = await open(server, "", { hasTouch: true });
    const picture = await settled(page);
    const touch = await page.context().newCDPSession(page);
    const fingers = async (type: string, apart: number) => {
      const [x, y] = await at(picture, 0.5, 0.6);
      const touchPoints = apart === 0 ? [] : [0, 1].map((id) => ({ id, x: x + (id - 0.5) * apart, y }));
      await touch.send("Input.dispatchTouchEvent", { type, touchPoints } as never);
    };
    await fingers("touchStart", 80);
    for (const apart of [120, 160, 200, 240]) await fingers("touchMove", apart);
    await fingers("touchEnd", 0);
    await expect.poll(async () => width(await range(page))).toBeLessThan(52_416 / 2);
    const { from, to } = await range(page);
    expect((from + to) / 2).toBeGreaterThan(15_000);
    expect((from + to) / 2).toBeLessThan(37_000);
  });

  test("shows another part when the small picture of the whole is clicked, and a range when it is dragged over", async () => {
    const page = await open(server, "r=1000-2000");
    const picture = await settled(page);
    const box = (await picture.boundingBox())!;
    const y = box.y + 25;
    await page.mouse.click(box.x + box.width * 0.5, y);
    await expect.poll(async () => (await range(page)).from).toBeGreaterThan(15_000);
    expect(width(await range(page))).toBeCloseTo(1000, 0);
    await page.mouse.move(box.x + box.width * 0.7, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, y, { steps: 4 });
    await page.mouse.up();
    await expect.poll(async () => width(await range(page))).toBeGreaterThan(5000);
  });

  test("tells under the pointer what explain tells of the peak", async () => {
    const { devices } = JSON.parse(run("explain", "--json", recording("bert_varlen-lim16"))) as {
      devices: { peak: { allocated_bytes: number; allocated_event: number } }[];
    };
    const { allocated_bytes, allocated_event } = devices[0]!.peak;
    const page = await open(server, `r=${allocated_event - 20}-${allocated_event + 21}`);
    const picture = await settled(page);
    const box = (await picture.boundingBox())!;
    const plot = { left: 72, right: 14 }; // as layout.ts has them
    const x = box.x + plot.left + (20.5 / 41) * (box.width - plot.left - plot.right);
    await page.mouse.move(x, box.y + box.height * 0.7);
    await page.locator(".float", { hasText: `event ${allocated_event.toLocaleString("en")}` }).waitFor();
    const gib = (allocated_bytes / 2 ** 30).toFixed(2);
    expect(await page.locator(".float .tip-row", { hasText: "allocated" }).innerText()).toContain(
      `${gib} GiB`,
    );
  });

  test("selects the block that is clicked, and the group in the legend", async () => {
    const page = await open(server, "r=20400-20700");
    const picture = await settled(page);
    await page.mouse.click(...(await at(picture, 0.8, 0.9)));
    await hashBecomes(page, "s", /^b\d+$/);
    await page.locator(".stack-legend button", { hasText: "parameters" }).click();
    await hashBecomes(page, "s", /^category\.\d+$/);
  });

  test("is zoomed vertically by the wheel over its labels, by R and V, and shows all with 0", async () => {
    const page = await open(server);
    const picture = await settled(page);
    const paint = () => picture.evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
    const whole = await paint();
    const box = (await picture.boundingBox())!;
    await page.mouse.move(box.x + 30, box.y + box.height * 0.8);
    await page.mouse.wheel(0, -400);
    await expect.poll(paint).not.toBe(whole);
    await page.keyboard.press("0");
    await page.mouse.move(5, 5);
    await expect.poll(paint).toBe(whole);
    await page.keyboard.press("r");
    await expect.poll(paint).not.toBe(whole);
    await page.keyboard.press("v");
    await expect.poll(paint).toBe(whole);
  });
});

describe("the map", () => {
  test("is zoomed both ways by the wheel, vertically only over the addresses, and shows all with 0", async () => {
    const page = await open(server, "v=map");
    const picture = await settled(page);
    await page.mouse.move(...(await at(picture, 0.6, 0.6)));
    await page.mouse.wheel(0, -300);
    await hashBecomes(page, "y", /^[\d.]+-[\d.]+$/);
    const before = await range(page);
    const vertical = hashOf(page).get("y");
    const box = (await picture.boundingBox())!;
    await page.mouse.move(box.x + 40, box.y + box.height * 0.6);
    await page.mouse.wheel(0, -300);
    await expect.poll(() => hashOf(page).get("y")).not.toBe(vertical);
    expect(await range(page)).toEqual(before);
    await page.keyboard.press("0");
    await hashBecomes(page, "y", null);
    await hashBecomes(page, "r", null);
  });

  test("says of free pieces what explain says of the error", async () => {
    const { devices } = JSON.parse(run("explain", "--json", recording("bert_varlen-lim16"))) as {
      devices: { fragmentation: { event: number; largest_bytes: number; pinned_bytes: number } }[];
    };
    const { event, largest_bytes, pinned_bytes } = devices[0]!.fragmentation;
    const page = await open(server, "v=findings");
    await page.getByRole("button", { name: "on the map" }).click();
    await hashBecomes(page, "e", new RegExp(`^${event}$`));
    const words = page.locator(".fragments");
    const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(2)} MiB`;
    await words.waitFor();
    expect(await words.innerText()).toContain(`${mib(pinned_bytes)} free in`);
    expect(await words.innerText()).toContain(`largest ${mib(largest_bytes)}`);
  });

  test("names the block under the pointer, and selects it", async () => {
    const page = await open(server, "v=map");
    const picture = await settled(page);
    const note = page.locator(".float");
    let block: string | undefined;
    for (let y = 0.95; !block && y > 0.2; y -= 0.01) {
      await page.mouse.move(...(await at(picture, 0.5, y)));
      block = /block ([\d,]+)/.exec(await note.innerText())?.[1]?.replaceAll(",", "");
    }
    await page.mouse.down();
    await page.mouse.up();
    await hashBecomes(page, "s", new RegExp(`^b${block}$`));
    await page.getByRole("complementary", { name: "Details" }).getByText("Block").first().waitFor();
  });
});
