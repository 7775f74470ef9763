import { expect, test } from "vitest";
import { parseMarkdown } from "../../shell/markdown.tsx";
import { evidenceParts } from "./evidence.ts";

test("events in a sentence lead there, other numbers do not", () => {
  expect(evidenceParts("at event 4,711 it held 3 GiB, until e5000")).toEqual([
    { text: "at ", event: null },
    { text: "event 4,711", event: 4711 },
    { text: " it held 3 GiB, until ", event: null },
    { text: "e5000", event: 5000 },
  ]);
  expect(evidenceParts("nothing here, scale5 events 3")).toEqual([
    { text: "nothing here, scale5 events 3", event: null },
  ]);
  expect(evidenceParts("event e51611: asked")[0]).toEqual({ text: "event e51611", event: 51611 });
  expect(evidenceParts("event 7, then more")[0]).toEqual({ text: "event 7", event: 7 });
});

test("the blocks of a rule's page", () => {
  const text =
    "# Title\n\nOne\ntwo.\n\n- a\n  b\n- c\n\n1. x\n\n```sh\n# code\n```\n\n| h | i |\n|---|---|\n| 1 | 2 |\n";
  expect(parseMarkdown(text)).toEqual([
    { kind: "heading", depth: 1, text: "Title" },
    { kind: "paragraph", text: "One two." },
    { kind: "list", ordered: false, items: ["a b", "c"] },
    { kind: "list", ordered: true, items: ["x"] },
    { kind: "code", text: "# code" },
    { kind: "table", head: ["h", "i"], rows: [["1", "2"]] },
  ]);
});

test("a fence that is not closed, and an empty page, end", () => {
  expect(parseMarkdown("```\nx")).toEqual([{ kind: "code", text: "x" }]);
  expect(parseMarkdown("\n\n")).toEqual([]);
});
