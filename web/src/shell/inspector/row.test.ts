import { expect, test } from "vitest";
import type { TableColumn } from "../../state/types.ts";
import { segmentAt } from "./row.tsx";

const columns = ["address", "from_event", "to_event"].map(
  (name): TableColumn => ({ name, type: "text", title: name }),
);

test("of segments at one address it is the one at the event", () => {
  const data = [
    ["0x1000", 5, 9],
    ["0x2000", 1, null],
    ["0x2000", 40, null],
    ["0x2000", 10, 20],
  ];
  const at = (event: number) => segmentAt({ columns, data }, "0x2000", event)?.[1];
  expect([at(0), at(1), at(9), at(10), at(30), at(99)]).toEqual([1, 1, 1, 10, 10, 40]);
  expect(segmentAt({ columns, data }, "0x3000", 1)).toBeUndefined();
});
