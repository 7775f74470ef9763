// A stack, innermost call first: the reader's own lines stand out, those of libraries can be folded away.

import { useState } from "preact/hooks";
import { useApp } from "../../state/hooks.ts";
import type { Frame, RuleFrame } from "../../state/types.ts";
import { formatPlural } from "../../units/units.ts";
import { copyText } from "../clipboard.ts";
import { Button, Tick } from "../ui.tsx";

export function frameText({ filename, line, name }: RuleFrame): string {
  return line > 0 ? `${filename}:${line} ${name}` : `${filename} ${name}`;
}

function isOwn(frame: RuleFrame | Frame): boolean {
  return !("kind" in frame) || frame.kind === "user";
}

export function Frames({ frames }: { frames: readonly (RuleFrame | Frame)[] }) {
  const app = useApp();
  const [all, setAll] = useState(false);
  if (frames.length === 0) return <p class="quiet">The recording has no stack for it.</p>;
  const own = frames.filter(isOwn);
  const shown = all || own.length === 0 ? frames : own;
  const copy = () => copyText(app, frames.map(frameText).join("\n"), "stack");
  return (
    <section>
      <div class="section-head">
        <h3>Stack</h3>
        {own.length > 0 && own.length < frames.length && (
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
        {shown.map((frame, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a recursive call stands twice in a stack
          <li key={index} class={isOwn(frame) ? "own" : "library"}>
            <span class="frame-name">{frame.name}</span>
            <span class="frame-place">
              {frame.filename}
              {frame.line > 0 && `:${frame.line}`}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
