import { expect, test } from "vitest";
import { cellText, isNumber } from "../state/cells.ts";
import type { TableColumn } from "../state/types.ts";
import { shownOrder } from "../views/tables/row.tsx";
import { matching } from "./commands.ts";

test("a command is found by any words of its name, in any order", () => {
  const commands = ["Next step", "Previous step", "Copy a link"].map((name) => ({
    name,
    keys: "",
    run: () => undefined,
  }));
  expect(matching(commands, "STEP prev").map(({ name }) => name)).toEqual(["Previous step"]);
  expect(matching(commands, "")).toHaveLength(3);
  expect(matching(commands, "zzz")).toEqual([]);
});

test("values of tables are printed by their type", () => {
  expect(cellText("bytes", 3 * 2 ** 29)).toBe("1.50 GiB");
  expect(cellText("us", 12_500_000)).toBe("12.50 s");
  expect(cellText("event", 1234567)).toBe("1,234,567");
  expect(cellText("event", -1)).toBe("before the first");
  expect(cellText("rate", 1024.4)).toBe("1.00 KiB");
  expect(cellText("text", null)).toBe("–");
  expect(cellText("text", true)).toBe("yes");
  expect(cellText("address", "0x7f00")).toBe("0x7f00");
  expect(isNumber("bytes")).toBe(true);
  expect(isNumber("address")).toBe(false);
});

test("what a row is about stands first, then the columns that say most", () => {
  const columns = ["site_id", "stream", "site", "held_bytes", "pool"].map(
    (name): TableColumn => ({ name, type: "text", title: name }),
  );
  expect(shownOrder(columns).map((place) => columns[place]?.name)).toEqual([
    "site_id",
    "site",
    "held_bytes",
    "stream",
    "pool",
  ]);
  expect(shownOrder([])).toEqual([]);
});
