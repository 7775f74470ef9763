import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as units from "./units.ts";

const cases = JSON.parse(
  readFileSync(new URL("../../../internal/units/testdata/printed.json", import.meta.url), "utf8"),
);

describe.each([
  ["bytes", units.formatBytes],
  ["delta", units.formatBytesDelta],
  ["duration_us", units.formatDuration],
  ["count", units.formatCount],
] as const)("%s prints as the command line does", (kind, format) => {
  test.each(cases[kind] as [number, string][])("%d is %s", (n, want) => expect(format(n)).toBe(want));
});

test.each(cases.share as [[number, number], string][])("share %j is %s", ([part, whole], want) =>
  expect(units.formatShare(part, whole)).toBe(want),
);

test("plurals", () => {
  expect(units.formatPlural(1, "event", "events")).toBe("1 event");
  expect(units.formatPlural(5212, "event", "events")).toBe("5,212 events");
});
