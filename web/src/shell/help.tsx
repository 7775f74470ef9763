// The help: every key, from the table that the keys are looked up in.

import { useEffect, useState } from "preact/hooks";
import { useApp } from "../state/hooks.ts";
import { chordName, type Hotkey, hotkeys, keyGroups } from "../state/keys.ts";
import { Dialog } from "./dialog.tsx";
import type { Settings } from "./settings.ts";
import { Button, Tick } from "./ui.tsx";

export const onMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** The signs printed on the reader's keyboard, where the browser tells. */
function useLayout(): ReadonlyMap<string, string> | undefined {
  const [layout, setLayout] = useState<ReadonlyMap<string, string>>();
  useEffect(() => {
    const { keyboard } = navigator as { keyboard?: { getLayoutMap(): Promise<ReadonlyMap<string, string>> } };
    keyboard?.getLayoutMap().then(setLayout, () => undefined);
  }, []);
  return layout;
}

export function Help({ settings }: { settings: Settings }) {
  const app = useApp();
  const layout = useLayout();
  return (
    <Dialog label="Keys and help" className="help">
      <div class="section-head">
        <h2>Keys</h2>
        <Button label="Close (Esc)" onClick={() => (app.dialog.value = null)}>
          Close
        </Button>
      </div>
      <div class="help-groups">
        {keyGroups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl class="keys">
              {hotkeys
                .filter((hotkey) => hotkey.group === group)
                .map((hotkey) => (
                  <KeyRow key={hotkey.action} hotkey={hotkey} layout={layout} />
                ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="quiet">
        Shift makes moving and zooming faster. With the pointer, on timeline and map: the wheel zooms, with
        Shift it moves; dragging marks a range, with Space held it moves; a click selects.
      </p>
      <Tick
        label="Single letters are keys of this page"
        checked={settings.letters.value === "on"}
        onChange={(on) => (settings.letters.value = on ? "on" : "off")}
        title="Switch off where a screen reader or speech input needs the letters"
      />
      <Tick
        label="The wheel moves up and down, and zooms with Ctrl"
        checked={settings.wheel.value === "scroll"}
        onChange={(on) => (settings.wheel.value = on ? "scroll" : "zoom")}
      />
    </Dialog>
  );
}

function KeyRow({ hotkey, layout }: { hotkey: Hotkey; layout: ReadonlyMap<string, string> | undefined }) {
  return (
    <div>
      <dt>
        {[...new Set(hotkey.chords.map((chord) => chordName(chord, onMac, layout)))].map((name) => (
          <kbd key={name}>{name}</kbd>
        ))}
      </dt>
      <dd>{hotkey.help}</dd>
    </div>
  );
}
