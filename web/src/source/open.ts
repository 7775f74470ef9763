import { EmbeddedSource, unpack } from "./embedded.ts";
import { HTTPSource } from "./http.ts";
import type { Source } from "./source.ts";

/** The source of a page: the data within it, where it was exported, else the server it came from. */
export async function openSource(page: Document): Promise<Source> {
  const data = page.getElementById("ullage-data");
  if (!data) return new HTTPSource(page.baseURI);
  const { index, answers } = await unpack(data.textContent ?? "");
  data.remove(); // its text is as large again as what was unpacked
  return new EmbeddedSource(index, answers);
}
