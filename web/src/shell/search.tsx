// The search box: a query in the language of the tables, tried while it is typed. What matches is counted, a word that is
// not understood is shown in its place.

import { useEffect, useRef, useState } from "preact/hooks";
import { AnswerError } from "../source/source.ts";
import { useActions, useAnswer, useApp } from "../state/hooks.ts";
import { type FaultPlace, wordAt } from "../state/query.ts";
import { question } from "../state/question.ts";
import type { TableAnswer } from "../state/types.ts";
import { formatBytes, formatPlural } from "../units/units.ts";

/** Typing pauses this long before the query is asked for. */
const pauseMilliseconds = 250;

export function Search() {
  const app = useApp();
  const input = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState(app.query.value);
  const [open, setOpen] = useState(false);
  // What is asked has no spaces around it; those that are being typed stay.
  useEffect(
    () => app.query.subscribe((query) => setDraft((now) => (now.trim() === query ? now : query))),
    [app],
  );
  useEffect(() => {
    const timer = setTimeout(() => {
      app.query.value = draft.trim();
    }, pauseMilliseconds);
    return () => clearTimeout(timer);
  }, [app, draft]);
  useActions({ search: () => input.current?.select() });
  const submit = () => {
    app.query.value = draft.trim();
    if (!usesQuery.has(app.view.peek())) app.act("view-tables");
    input.current?.blur();
  };
  return (
    <div class="search" role="search" onFocusCapture={() => setOpen(true)} onFocusOut={() => setOpen(false)}>
      <input
        ref={input}
        type="search"
        aria-label="Search blocks, sites, segments and events"
        aria-describedby="search-result"
        aria-keyshortcuts="/"
        placeholder="Search  /"
        spellcheck={false}
        autocomplete="off"
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") submit();
          if (event.key === "Escape") leave(event, draft, setDraft);
        }}
      />
      <div id="search-result" class={open ? "search-result" : "heard"}>
        <Result draft={draft} asked={app.query.value} />
      </div>
    </div>
  );
}

/** Views on which a query acts at once; from the others Enter leads to the tables. */
const usesQuery = new Set<string>(["tables", "flame", "moment"]);

/** The first Escape empties the box, the second leaves it. */
function leave(event: KeyboardEvent, draft: string, setDraft: (draft: string) => void): void {
  event.preventDefault();
  if (draft === "") (event.currentTarget as HTMLElement).blur();
  else setDraft("");
}

function Result({ draft, asked }: { draft: string; asked: string }) {
  const app = useApp();
  const live = app.source.live;
  const what = app.view.value === "tables" ? app.table.value : "blocks";
  const atCursor = app.view.value === "moment" || (app.view.value === "tables" && app.live.value);
  const event = atCursor && what !== "events" ? app.cursor.value : null;
  const path = asked === "" ? null : app.path(question(`table/${what}`, { count: 1, event, q: asked }));
  const { value, error } = useAnswer<TableAnswer>(path);
  if (draft.trim() === "") return <QueryHelp />;
  if (error && !live) return <p class="quiet">{error.message}</p>;
  if (error)
    return (
      <Fault
        query={asked}
        message={error.message}
        place={error instanceof AnswerError ? error.place : null}
      />
    );
  if (!value) return null;
  return (
    <p role="status">
      {formatPlural(value.matching, what.slice(0, -1), what)} match
      {value.matching_bytes > 0 && `, ${formatBytes(value.matching_bytes)}`}
      {!usesQuery.has(app.view.value) && <span class="quiet"> · Enter shows them in Tables</span>}
    </p>
  );
}

function Fault({ query, message, place }: { query: string; message: string; place: FaultPlace | null }) {
  const { before, word, after } = wordAt(query, place);
  return (
    <div role="alert">
      {word !== "" && (
        <p class="mono">
          {before}
          <mark class="fault">{word}</mark>
          {after}
        </p>
      )}
      <p class="bad-text">{message}</p>
    </div>
  );
}

const queryWords: readonly (readonly [word: string, meaning: string])[] = [
  ["file: func: module: category: op:", "a part of that name"],
  ["size>64MiB requested<1KiB", "bytes"],
  ["life>10ms life<50e", "time, or events"],
  ["step:3 step:3..5 event>1000", "when"],
  ["state:live state:leaked", "what became of it"],
  ["stream: pool: addr:0x7f…", "where it lies"],
  ["action:oom", "of events"],
  ["leak:", "blocks of sites that grow"],
  ["pin:", "blocks that pin free memory, at the cursor"],
  ["-word", "all without it"],
  ["word", "in the stack"],
];

function QueryHelp() {
  return (
    <dl class="query-help">
      {queryWords.map(([word, meaning]) => (
        <div key={word}>
          <dt class="mono">{word}</dt>
          <dd class="quiet">{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
