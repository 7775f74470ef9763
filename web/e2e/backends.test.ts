// Both back ends paint what the reference shows, to the pixel. UPDATE=1 writes the reference
// anew, from the 2D canvas; look at it before it is committed.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { beforeAll, expect, test } from "vitest";
import { newPage, useBrowser } from "./world.ts";

const reference = join(import.meta.dirname, "reference/drawing.png");

interface Drawing {
  differing(name: string, reference: string): Promise<number>;
  png(name: string): string;
}

let code: string;

useBrowser();
beforeAll(async () => {
  const built = await build({
    configFile: false,
    logLevel: "warn",
    build: {
      write: false,
      minify: false,
      rolldownOptions: { input: join(import.meta.dirname, "drawing.ts"), output: { format: "iife" } },
    },
  });
  const [output] = [built].flat();
  if (!output || !("output" in output)) throw new Error("the build gave nothing");
  code = output.output[0].code;
  if (process.env.UPDATE) writeFileSync(reference, await paintedBy("canvas"));
});

/** The picture that a back end paints, as the content of a file. */
async function paintedBy(name: string): Promise<Buffer> {
  return Buffer.from(await withDrawing((drawing, each) => drawing.png(each), name), "base64");
}

async function withDrawing<T>(
  use: (drawing: Drawing, name: string, want: string) => T | Promise<T>,
  name: string,
  want = "",
) {
  const page = await newPage();
  await page.goto("about:blank");
  await page.evaluate(code);
  return page.evaluate(
    `(${use.toString()})(window.drawing, ${JSON.stringify(name)}, ${JSON.stringify(want)})`,
  ) as Promise<T>;
}

test.each(["canvas", "webgl"])("%s paints the reference", async (name) => {
  const want = readFileSync(reference).toString("base64");
  expect(await withDrawing((drawing, each, png) => drawing.differing(each, png), name, want)).toBe(0);
});
