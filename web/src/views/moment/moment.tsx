// Moment view: every segment and block at the cursor's event, to scale.

import { usePaced } from "../../shell/cursor.ts";
import { Blank, Button, Failure, Loading, Menu, Tick } from "../../shell/ui.tsx";
import type { GroupBy } from "../../source/api.ts";
import { useAnswer, useApp } from "../../state/hooks.ts";
import { goToPeak, jump, stepBy } from "../../state/navigate.ts";
import { question } from "../../state/question.ts";
import type { Moment } from "../../state/types.ts";
import { Legend } from "../shared/legend.tsx";
import { TwinPick } from "../shared/twin.tsx";
import { MomentList } from "./list.tsx";
import { MomentPicture } from "./picture.tsx";

/** Finds the blocks that pin free memory after an event. */
const pinQuery = "pin:";

/** While the cursor runs, moments are asked for at most so often. */
const pauseMilliseconds = 60;

export function MomentView() {
  const app = useApp();
  const event = usePaced(app.cursor.value, pauseMilliseconds);
  const by = app.by.value === "category" ? null : app.by.value;
  const { value, error, loading } = useAnswer<Moment>(app.path(question("moment", { event, by })));
  return (
    <>
      <MomentBar />
      {error && !loading ? (
        <Failure what="The moment" error={error} />
      ) : !value ? (
        <Loading what="Laying out the moment" />
      ) : value.segments.length === 0 ? (
        <Blank title="Nothing is reserved at this event">
          Step on with the full stop, or press P to go to the peak.
        </Blank>
      ) : app.twin.value ? (
        <MomentList segments={value.segments} />
      ) : (
        <MomentPicture segments={value.segments} event={value.event} />
      )}
      <Legend />
    </>
  );
}

function MomentBar() {
  const app = useApp();
  return (
    <div class="toolbar">
      <div class="buttons">
        <Button label="Previous step of the program" onClick={() => void jump(app, "prev", { of: "step" })}>
          « step
        </Button>
        <Button label="Previous event (,)" onClick={() => stepBy(app, -1)}>
          ‹ event
        </Button>
        <Button label="Next event (.)" onClick={() => stepBy(app, 1)}>
          event ›
        </Button>
        <Button label="Next step of the program" onClick={() => void jump(app, "next", { of: "step" })}>
          step »
        </Button>
        <Button label="Go to the peak of allocated memory (P)" onClick={() => goToPeak(app, false)}>
          peak
        </Button>
      </div>
      <GroupMenu />
      <Tick
        label="pinning blocks"
        title="Blocks that keep free memory of their segment from going back to the driver"
        checked={app.query.value === pinQuery}
        onChange={(on) => {
          app.query.value = on ? pinQuery : "";
        }}
      />
      <span class="spring" />
      <TwinPick />
    </div>
  );
}

/** By what blocks are coloured. */
function GroupMenu() {
  const app = useApp();
  return (
    <Menu<GroupBy>
      label="colour by"
      value={app.by.value}
      options={[
        ["category", "category"],
        ["module", "module"],
        ["site", "allocation site"],
        ["stream", "stream"],
      ]}
      onPick={(by) => {
        app.by.value = by;
      }}
    />
  );
}
