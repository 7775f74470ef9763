// Flame view: what is live at the cursor, or was allocated within the marked range, by the calls that
// allocated it. The picture hangs down from the outermost call; inverted, from the innermost.

import { usePaced } from "../../shell/cursor.ts";
import { Blank, Failure, Loading, Pick, Tick } from "../../shell/ui.tsx";
import type { FlameState } from "../../state/hash.ts";
import { useAnswer, useApp } from "../../state/hooks.ts";
import { namesSought, soughtIn } from "../../state/query.ts";
import { question } from "../../state/question.ts";
import type { FlameAnswer } from "../../state/types.ts";
import { formatBytes, formatCount, formatPlural, formatShare } from "../../units/units.ts";
import { TwinPick } from "../shared/twin.tsx";
import { matchingBytes } from "./layout.ts";
import { FlameList } from "./list.tsx";
import { FlamePicture } from "./picture.tsx";

/** What the view asks for: one moment, or what was allocated within a range. */
function useFlamePath(): string | null {
  const app = useApp();
  const { invert, library, range } = app.flame.value;
  const marked = app.markedEvents();
  const event = usePaced(app.cursor.value, 120);
  const span = range && marked ? { from: marked.first, to: marked.last } : { event };
  return app.path(question("flame", { ...span, invert, library: library ? null : 0 }));
}

export function FlameView() {
  const app = useApp();
  const { value, error, loading } = useAnswer<FlameAnswer>(useFlamePath());
  return (
    <>
      <FlameBar answer={value} />
      {error && !loading ? (
        <Failure what="The flame graph" error={error} />
      ) : !value ? (
        <Loading what="Adding up stacks" />
      ) : value.nodes.parent.length === 0 ? (
        <NothingLive />
      ) : app.twin.value ? (
        <FlameList answer={value} />
      ) : (
        <FlamePicture answer={value} />
      )}
    </>
  );
}

function NothingLive() {
  const app = useApp();
  const ranged = app.flame.value.range && app.marked.value !== null;
  return (
    <Blank title={ranged ? "Nothing was allocated in the range" : "Nothing is allocated at the cursor"}>
      Move the cursor in the timeline, or press P to go to the peak.
    </Blank>
  );
}

function FlameBar({ answer }: { answer: FlameAnswer | null }) {
  const app = useApp();
  const flame = app.flame.value;
  const set = (change: Partial<FlameState>) => {
    app.flame.value = { ...flame, zoom: "", ...change };
  };
  return (
    <div class="toolbar">
      <Pick
        label="What is summed up"
        value={flame.range && app.marked.value ? "range" : "event"}
        options={[
          ["event", "live at cursor"],
          ["range", "allocated in range"],
        ]}
        onPick={(value) => {
          if (value === "range" && !app.marked.value) app.marked.value = app.range.value;
          set({ range: value === "range" });
        }}
      />
      <Tick
        label="inverted"
        title="Begin with the innermost calls"
        checked={flame.invert}
        onChange={(invert) => set({ invert })}
      />
      <Tick label="library frames" checked={flame.library} onChange={(library) => set({ library })} />
      <span class="spring" />
      {answer && <FlameMatches answer={answer} />}
      {answer && <FlameTotal answer={answer} />}
      <TwinPick />
    </div>
  );
}

function FlameTotal({ answer }: { answer: FlameAnswer }) {
  return (
    <span>
      <strong>{formatBytes(answer.total_bytes)}</strong>{" "}
      <span class="quiet">
        in {formatPlural(answer.blocks, "block", "blocks")}
        {answer.left_out > 0 && `, ${formatCount(answer.left_out)} small calls within their callers`}
      </span>
    </span>
  );
}

/** What the calls hold that a search lights up. */
function FlameMatches({ answer }: { answer: FlameAnswer }) {
  const words = namesSought(useApp().query.value);
  if (words.length === 0) return null;
  const bytes = matchingBytes(answer, (name) => soughtIn(name, words));
  return (
    <span>
      <span class="swatch found" /> {formatBytes(bytes)}{" "}
      <span class="quiet">({formatShare(bytes, answer.total_bytes)}) match</span>
    </span>
  );
}
