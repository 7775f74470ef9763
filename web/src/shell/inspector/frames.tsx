// A stack, innermost call first: the reader's own lines stand out, those of libraries are folded away.

import { useState } from "preact/hooks";
import { useApp } from "../../state/hooks.ts";
import type { Frame, RuleFrame } from "../../state/types.ts";
import { formatPlural } from "../../units/units.ts";
import { copyText } from "../clipboard.ts";
import { Button, Tick } from "../ui.tsx";
import { baseName } from "../words.ts";

type AnyFrame = RuleFrame | Frame;

/** Of a stack that does not tell whose its frames are, so many are shown at first. */
const shownAtFirst = 6;

function frameText({ filename, line, name }: RuleFrame): string {
  return line > 0 ? `${filename}:${line} ${name}` : `${filename} ${name}`;
}

function isOwn(frame: AnyFrame): boolean {
  return "kind" in frame && frame.kind === "user";
}

/** The frames that say most: the reader's own, else the innermost. */
function shortened(frames: readonly AnyFrame[]): readonly AnyFrame[] {
  const own = frames.filter(isOwn);
  return own.length > 0 ? own : frames.slice(0, shownAtFirst);
}

export function Frames({ frames }: { frames: readonly AnyFrame[] }) {
  const app = useApp();
  const [all, setAll] = useState(false);
  if (frames.length === 0) return <p class="quiet">The recording has no stack for it.</p>;
  const short = shortened(frames);
  const copy = () => void copyText(app, frames.map(frameText).join("\n"), "stack");
  return (
    <section>
      <div class="section-head">
        <h3>Stack</h3>
        {short.length < frames.length && (
          <Tick
            label={`all ${formatPlural(frames.length, "frame", "frames")}`}
            checked={all}
            onChange={setAll}
          />
        )}
        <Button kind="link" label="Copy the stack" onClick={copy}>
          copy
        </Button>
      </div>
      <ol class="frames">
        {(all ? frames : short).map((frame, index) => (
          // a recursive call stands twice in a stack
          <FrameRow key={index} frame={frame} />
        ))}
      </ol>
    </section>
  );
}

function FrameRow({ frame }: { frame: AnyFrame }) {
  return (
    <li class={isOwn(frame) ? "own" : "library"}>
      <span class="frame-name">{frame.name}</span>
      <Place frame={frame} />
    </li>
  );
}

/** File and line, which lead to all blocks whose stack goes through them. */
function Place({ frame: { filename, line } }: { frame: AnyFrame }) {
  const app = useApp();
  if (line <= 0) return <span class="frame-place">{filename}</span>;
  const word = `"${baseName(filename)}:${line}"`;
  const search = () => {
    app.query.value = word;
    app.table.value = "blocks";
    app.act("view-tables");
  };
  return (
    <button type="button" class="frame-place" title={`Blocks with ${word} in their stack`} onClick={search}>
      {filename}:{line}
    </button>
  );
}
