// The page as a whole, and what its own keys do.

import { useEffect } from "preact/hooks";
import type { App } from "../state/app.ts";
import { views } from "../state/hash.ts";
import { AppContext, useActions, useApp } from "../state/hooks.ts";
import type { Action } from "../state/keys.ts";
import { goToPeak, jump, stepBy, toggleMark } from "../state/navigate.ts";
import type { ViewName } from "../state/viewer.ts";
import { Header, ViewTabs } from "./header.tsx";
import { Help } from "./help.tsx";
import { Inspector } from "./inspector.tsx";
import { Banners, LiveRegion, Opening, Toasts } from "./notices.tsx";
import { Palette } from "./palette.tsx";
import { savePicture } from "./pictures.ts";
import { Readout } from "./readout.tsx";
import type { Settings } from "./settings.ts";
import { copyCommand, copyLink } from "./share.ts";
import { nextTheme } from "./theme.ts";
import { View } from "./view.tsx";
import { baseName, viewTitles } from "./words.ts";

export function Root({ app, settings }: { app: App; settings: Settings }) {
  return (
    <AppContext.Provider value={app}>
      <Page settings={settings} />
    </AppContext.Provider>
  );
}

function Page({ settings }: { settings: Settings }) {
  const app = useApp();
  usePageActions(app, settings);
  const open = app.device.value !== null;
  const inspecting = open && app.inspecting.value;
  return (
    <div class="shell">
      <Header />
      <ViewTabs />
      <div>
        <Banners />
      </div>
      {open ? (
        <div class={inspecting ? "body with-inspector" : "body"}>
          <main class="view" aria-label={viewTitles[app.view.value]}>
            <h2 class="heard">{viewTitles[app.view.value]}</h2>
            <View view={app.view.value} />
          </main>
          {inspecting && <Inspector />}
        </div>
      ) : (
        <Opening />
      )}
      <Readout />
      <Toasts />
      <LiveRegion />
      {app.dialog.value === "help" && <Help settings={settings} />}
      {app.dialog.value === "palette" && <Palette />}
    </div>
  );
}

function usePageActions(app: App, settings: Settings): void {
  useActions({
    ...viewActions(app),
    "step-back": ({ fast }) => stepBy(app, fast ? -10 : -1),
    "step-forward": ({ fast }) => stepBy(app, fast ? 10 : 1),
    previous: () => void jump(app, "prev"),
    next: () => void jump(app, "next"),
    peak: ({ fast }) => goToPeak(app, fast),
    mark: () => toggleMark(app),
    clear: () => clear(app),
    help: () => (app.dialog.value = "help"),
    palette: () => (app.dialog.value = "palette"),
    inspect: () => (app.inspecting.value = !app.inspecting.peek()),
    theme: () => {
      settings.theme.value = nextTheme(settings.theme.peek());
      app.say(`theme: ${settings.theme.peek()}`);
    },
    "copy-link": () => void copyLink(app),
    "copy-command": () => void copyCommand(app),
    "export-picture": ({ fast }) => void savePicture(app, fast ? "svg" : "png"),
  });
  const file = app.choice.value?.recording.file;
  const title = [viewTitles[app.view.value], ...(file ? [baseName(file)] : []), "ullage"].join(" – ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}

function viewActions(app: App): Partial<Record<Action, () => void>> {
  const entries = views.map((view): [Action, () => void] => [`view-${view}`, () => show(app, view)]);
  return Object.fromEntries(entries);
}

function show(app: App, view: ViewName): void {
  app.view.value = view;
  app.say(viewTitles[view]);
}

/** Escape takes away one thing at a time: a dialog, the range, the selection. */
function clear(app: App): void {
  if (app.dialog.peek()) app.dialog.value = null;
  else if (app.marked.peek()) app.marked.value = null;
  else app.selection.value = null;
}
