// A group of a grouping: a category, a module, a site or a stream.

import type { GroupBy } from "../../source/api.ts";
import { useApp } from "../../state/hooks.ts";
import { formatBytes } from "../../units/units.ts";
import { Button, Fact } from "../ui.tsx";
import { EventLink } from "./event.tsx";

export function GroupDetails({ by, group }: { by: GroupBy; group: number }) {
  const app = useApp();
  const grouping = app.device.value?.info.groupings.find((each) => each.by === by);
  const found = grouping?.groups.find(({ id }) => id === group);
  if (!found)
    return <p class="quiet">Everything that is not in one of the groups with a name of their own.</p>;
  const list = () => {
    app.query.value = by === "site" ? `site:${group}` : `${by}:${quoted(found.name)}`;
    app.table.value = "blocks";
    app.act("view-tables");
  };
  return (
    <>
      <dl class="facts">
        <Fact name={by}>{found.name}</Fact>
        {found.of && <Fact name="category">{found.of}</Fact>}
        <Fact name="at most">{formatBytes(found.bytes)}</Fact>
        <Fact name="reached at">
          <EventLink event={found.event} />
        </Fact>
      </dl>
      <div class="buttons">
        <Button onClick={list}>its blocks</Button>
        {by === "site" && (
          <Button onClick={() => (app.selection.value = { kind: "site", site: group })}>
            the whole site
          </Button>
        )}
      </div>
    </>
  );
}

function quoted(name: string): string {
  return /\s/.test(name) ? `"${name}"` : name;
}
