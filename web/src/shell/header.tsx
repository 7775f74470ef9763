// The top of the page: which device is shown, what is the matter with it, and the views.

import { useEffect, useRef } from "preact/hooks";
import type { Choice } from "../state/app.ts";
import { views } from "../state/hash.ts";
import { useApp } from "../state/hooks.ts";
import { chordName } from "../state/keys.ts";
import type { ViewName } from "../state/viewer.ts";
import { onMac } from "./help.tsx";
import { Search } from "./search.tsx";
import { Button } from "./ui.tsx";
import { choiceName, verdictWords, viewTitles } from "./words.ts";

const paletteKeys = chordName({ code: "KeyK", mod: true }, onMac);

export function Header() {
  const app = useApp();
  return (
    <header class="header">
      <h1 class="brand">ullage</h1>
      <DeviceSwitch />
      <VerdictChip />
      <Search />
      <div class="header-buttons">
        <Button label="All commands" onClick={() => app.act("palette")}>
          {paletteKeys}
        </Button>
        <Button label="Keys and help (?)" onClick={() => app.act("help")}>
          <span aria-hidden="true">?</span>
        </Button>
        <Button label="Light, dark, or as the system (T)" onClick={() => app.act("theme")}>
          <span aria-hidden="true">◐</span>
        </Button>
        <Button label="Details (I)" pressed={app.inspecting.value} onClick={() => app.act("inspect")}>
          <span aria-hidden="true">◧</span>
        </Button>
      </div>
    </header>
  );
}

function key({ ref }: Choice): string {
  return `${ref.id}/${ref.dev}`;
}

/** A list of the browser's own: it works with thousands of ranks, by keyboard, and is read out. */
function DeviceSwitch() {
  const app = useApp();
  const choices = app.choices.value;
  const chosen = app.choice.value;
  const waiting = app.session.value?.recordings.filter(({ state }) => state !== "ready") ?? [];
  if (choices.length === 0) return <span class="device-switch quiet">no recording yet</span>;
  return (
    <select
      class="device-switch"
      aria-label="Recording and device"
      value={chosen ? key(chosen) : ""}
      onChange={(event) => {
        const choice = choices.find((each) => key(each) === event.currentTarget.value);
        if (choice) app.choose(choice.ref);
      }}
    >
      {choices.map((choice) => (
        <option key={key(choice)} value={key(choice)}>
          {choiceName(choice)}
        </option>
      ))}
      {waiting.map(({ index, file, state }) => (
        <option key={`waiting ${index}`} disabled>
          {file} ({state === "failed" ? "could not be read" : `${state}…`})
        </option>
      ))}
    </select>
  );
}

function VerdictChip() {
  const app = useApp();
  const verdict = app.choice.value?.summary.verdict;
  if (!verdict) return null;
  const { sign, tone, words } = verdictWords(verdict.kind);
  return (
    <button
      type="button"
      class={`verdict-chip ${tone}`}
      title={verdict.text}
      onClick={() => app.act("view-findings")}
    >
      <span aria-hidden="true">{sign}</span>
      <strong>{words}</strong>
      <span class="verdict-text">{restOf(verdict.text, words)}</span>
    </button>
  );
}

/** A verdict's text mostly begins with the words that stand before it already. */
function restOf(text: string, words: string): string {
  return text.startsWith(words) ? text.slice(words.length).replace(/^[:,]?\s+/, "") : text;
}

export function ViewTabs() {
  const app = useApp();
  const current = app.view.value;
  return (
    <nav class="tabs" aria-label="Views">
      {views.map((view, index) => (
        <ViewTab key={view} view={view} number={index + 1} current={view === current} />
      ))}
    </nav>
  );
}

function ViewTab({ view, number, current }: { view: ViewName; number: number; current: boolean }) {
  const app = useApp();
  const tab = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (current) tab.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  return (
    <button
      ref={tab}
      type="button"
      class="tab"
      aria-current={current ? "page" : undefined}
      aria-keyshortcuts={String(number)}
      onClick={() => app.act(`view-${view}`)}
    >
      {viewTitles[view]}
      <span class="key" aria-hidden="true">
        {number}
      </span>
    </button>
  );
}
