// Brings the page to life: its source, its state, the address that mirrors it, its keys and its theme.

import { effect } from "@preact/signals";
import { render } from "preact";
import { openSource } from "../source/open.ts";
import type { Source } from "../source/source.ts";
import { App } from "../state/app.ts";
import { same } from "../state/hash.ts";
import { listenToKeys } from "./keyboard.ts";
import { Root } from "./root.tsx";
import { loadSettings } from "./settings.ts";
import { followTheme } from "./theme.ts";

export async function start(page: HTMLElement): Promise<void> {
  let source: Source;
  try {
    source = await openSource(document);
  } catch (error) {
    page.textContent = `The recording in this page could not be unpacked: ${(error as Error).message}`;
    return;
  }
  const app = new App(source, location.hash);
  app.inspecting.value = matchMedia("(min-width: 900px)").matches; // on a small screen it would hide the view
  const settings = loadSettings();
  followTheme(settings.theme, app.theme);
  settings.wheel.subscribe((wheel) => {
    app.wheel.value = wheel;
  });
  followAddress(app);
  followSession(app);
  app.follow();
  listenToKeys(app, () => settings.letters.peek() === "off");
  render(<Root app={app} settings={settings} />, page);
}

function followSession(app: App): void {
  let build: string | null = null;
  app.source.progress(
    (session) => {
      // A page of one build does not speak with a server of another.
      if (build !== null && session.build !== build) location.reload();
      build = session.build;
      if (!same(session, app.session.peek())) app.session.value = session; // it comes every few seconds
    },
    (lost) => {
      app.lost.value = lost;
    },
  );
}

/** Browsers let an address be written a hundred times in half a minute, and no more. */
const addressPauseMilliseconds = 350;

/** Keeps the address and the state in step. A change of view is one step back in the history. */
function followAddress(app: App): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let place = placeOf(app);
  let going = false; // through the history: a step of its own would cut off what is ahead
  effect(() => {
    const link = app.link.value;
    clearTimeout(timer);
    const now = placeOf(app);
    if (now !== place && !going) history.pushState(null, "", link);
    else timer = setTimeout(() => history.replaceState(null, "", link), addressPauseMilliseconds);
    place = now;
  });
  const go = () => {
    going = true;
    app.load(location.hash);
    going = false;
  };
  addEventListener("hashchange", go);
  addEventListener("popstate", go);
}

function placeOf(app: App): string {
  return app.view.peek();
}
