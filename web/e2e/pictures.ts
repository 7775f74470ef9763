// Takes the pictures of docs/images: each view on recordings of testdata. scripts/pictures runs it.

import { join } from "node:path";
import { expect, test } from "vitest";
import { open, recording, serve, useBrowser } from "./world.ts";

const folder = join(import.meta.dirname, "../../docs/images");

type Theme = "light" | "dark";
type Picture = readonly [name: string, files: readonly string[], hash: string, theme: Theme];

// The views, each with what its picture shows where a recording asks for nothing else.
const views: readonly (readonly [view: string, theme: Theme])[] = [
  ["timeline", "light"],
  ["map", "dark"],
  ["moment", "light"],
  ["flame", "dark"],
  ["tables", "light"],
  ["findings", "light"],
  ["compare", "dark"],
  ["tune", "light"],
];

/** Every view of some recordings, of which one alone has nothing to compare; more has what a view's link says besides. */
function all(prefix: string, files: readonly string[], more: Readonly<Record<string, string>>): Picture[] {
  const shown = views.filter(([view]) => view !== "compare" || files.length > 1);
  return shown.map(([view, theme]) => [`${prefix}-${view}`, files, `v=${view}${more[view] ?? ""}`, theme]);
}

const pictures: readonly Picture[] = [
  ...all("view", ["bert_varlen-lim16"], {
    moment: "&e=24000",
    flame: "&q=forward",
    tables: "&q=size%3E64MiB",
  }),
  ["view-compare", ["ddp-rank0", "ddp-rank1"], "v=compare", "dark"],
  ...all("multiscale", ["multiscale"], { tables: "&q=life%3E5000e" }),
  ...all("fsdp2", ["fsdp2-rank0", "fsdp2-rank1"], {}),
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
