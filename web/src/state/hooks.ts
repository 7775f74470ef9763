// How components reach the app: its context, answers that follow the state, and the keys and pictures of a view.

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { AnswerError, type Source } from "../source/source.ts";
import type { App, Picture, Press } from "./app.ts";
import type { Action } from "./keys.ts";

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error("a view was drawn outside the app");
  return app;
}

/** The answer to a question, where it has come. While another is on its way the value is still that of the question before. */
export interface Answer<T> {
  value: T | null;
  error: Error | null;
  loading: boolean;
}

/** What is still being worked on is asked for again after this. */
const againMilliseconds = 1000;
const stillWorking = 409;

/** Asks until what is still being read or computed is there. */
async function askUntilThere<T>(source: Source, path: string, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await source.json<T>(path, signal);
    } catch (error) {
      if (!(error instanceof AnswerError) || error.status !== stillWorking) throw error;
      await new Promise((done) => setTimeout(done, againMilliseconds));
      signal.throwIfAborted();
    }
  }
}

/** Asks for path, and again whenever it changes; null asks nothing. Values stay on screen until the next has come. */
export function useAnswer<T>(path: string | null): Answer<T> {
  const { source } = useApp();
  const [answer, setAnswer] = useState<Answer<T>>({ value: null, error: null, loading: path !== null });
  useEffect(() => {
    if (path === null) {
      setAnswer({ value: null, error: null, loading: false });
      return undefined;
    }
    const abort = new AbortController();
    setAnswer((before) => ({ ...before, loading: true }));
    askUntilThere<T>(source, path, abort.signal).then(
      (value) => abort.signal.aborted || setAnswer({ value, error: null, loading: false }),
      (error: Error) => abort.signal.aborted || setAnswer((before) => ({ ...before, error, loading: false })),
    );
    return () => abort.abort();
  }, [source, path]);
  return answer;
}

/** Gives the keys of a view their meaning for as long as the view is there. */
export function useActions(actions: Partial<Record<Action, (press: Press) => void>>): void {
  const app = useApp();
  const latest = useRef(actions);
  latest.current = actions;
  const names = Object.keys(actions).sort().join(" ");
  useEffect(() => {
    const undo = (names.split(" ").filter(Boolean) as Action[]).map((action) =>
      app.on(action, (press) => latest.current[action]?.(press)),
    );
    return () => {
      for (const each of undo) each();
    };
  }, [app, names]);
}

/** Offers the picture of a view to "Save this view as a picture". */
export function usePicture(picture: Picture): void {
  const app = useApp();
  const latest = useRef(picture);
  latest.current = picture;
  useEffect(() => {
    const offered: Picture = {
      get name() {
        return latest.current.name;
      },
      png: () => latest.current.png(),
      get svg() {
        return latest.current.svg;
      },
    };
    app.picture.value = offered;
    return () => {
      if (app.picture.peek() === offered) app.picture.value = null;
    };
  }, [app]);
}
