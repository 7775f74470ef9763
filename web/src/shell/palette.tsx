// The command palette: a list that is narrowed by typing, walked by arrows, and run by Enter.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useApp } from "../state/hooks.ts";
import { type Command, commandsOf, matching } from "./commands.ts";
import { Dialog } from "./dialog.tsx";
import { onMac } from "./help.tsx";

export function Palette() {
  const app = useApp();
  const commands = useMemo(() => commandsOf(app, onMac), [app]);
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const found = matching(commands, typed);
  const run = (command: Command | undefined) => {
    app.dialog.value = null;
    command?.run();
  };
  return (
    <Dialog label="All commands" className="palette">
      <input
        type="text"
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[active] ? `command-${active}` : undefined}
        placeholder="What to do"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step) {
            event.preventDefault();
            setActive((active + step + found.length) % Math.max(1, found.length));
          }
          if (event.key === "Enter") run(found[active]);
        }}
      />
      <div id="palette-list" class="palette-list" role="listbox" aria-label="Commands">
        {found.map((command, index) => (
          <PaletteRow
            key={command.name}
            id={`command-${index}`}
            command={command}
            active={index === active}
            onPick={() => run(command)}
          />
        ))}
      </div>
      {found.length === 0 && <p class="quiet">No command has these words.</p>}
    </Dialog>
  );
}

interface PaletteRowProps {
  id: string;
  command: Command;
  active: boolean;
  onPick: () => void;
}

function PaletteRow({ id, command, active, onPick }: PaletteRowProps) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (active) row.current?.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the box above the list
    <div ref={row} id={id} class="palette-row" role="option" aria-selected={active} onClick={onPick}>
      <span>{command.name}</span>
      {command.keys && <kbd>{command.keys}</kbd>}
    </div>
  );
}
