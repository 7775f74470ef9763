// Takes the pictures of docs/images: each view on recordings of testdata. scripts/pictures runs it.

import { join } from "node:path";
import { expect, test } from "vitest";
import { open, recording, serve, useBrowser } from "./world.ts";

const folder = join(import.meta.dirname, "../../docs/images");

type Picture = readonly [name: string, files: readonly string[], hash: string, theme: "light" | "dark"];

const pictures: readonly Picture[] = [
  ["view-timeline", ["bert_varlen-lim16"], "v=timeline", "light"],
  ["view-map", ["bert_varlen-lim16"], "v=map", "dark"],
  ["view-moment", ["bert_varlen-lim16"], "v=moment&e=24000", "light"],
  ["view-flame", ["bert_varlen-lim16"], "v=flame&q=forward", "dark"],
  ["view-tables", ["bert_varlen-lim16"], "v=tables&q=size%3E64MiB", "light"],
  ["view-findings", ["bert_varlen-lim16"], "v=findings", "light"],
  ["view-compare", ["ddp-rank0", "ddp-rank1"], "v=compare", "dark"],
  ["view-tune", ["bert_varlen-lim16"], "v=tune", "light"],
];

useBrowser();

test.each(pictures)("%s", async (name, files, hash, colorScheme) => {
  const server = await serve(...files.map(recording));
  try {
    const page = await open(server, hash, { viewport: { width: 1280, height: 760 }, colorScheme });
    await page.locator("main [role=status]").waitFor({ state: "detached", timeout: 60_000 });
    // A picture is the same twice in a row once its last tile is painted.
    let before: Buffer = Buffer.alloc(0);
    await expect
      .poll(
        async () => {
          const now = await page.screenshot();
          const same = now.equals(before);
          before = now;
          return same;
        },
        { interval: 500, timeout: 30_000 },
      )
      .toBe(true);
    await page.screenshot({ path: join(folder, `${name}.png`) });
  } finally {
    await server.stop();
  }
});
