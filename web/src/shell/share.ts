// What leads back here: a link, and the command that prints the same numbers.

import type { App } from "../state/app.ts";
import { question } from "../state/question.ts";
import { compareEvent, deviceKey, otherChoice } from "../views/compare/other.ts";
import { tableQuery } from "../views/tables/query.ts";
import { copyText } from "./clipboard.ts";

export function copyLink(app: App): Promise<void> {
  return copyText(app, location.href.replace(/#.*/, "") + app.link.peek(), "link");
}

type Parameters = Record<string, string | number | boolean | null>;

/** The parameters of what is shown, as the view's own question has them. */
function commandParameters(app: App): Parameters {
  const event = app.cursor.peek();
  switch (app.view.peek()) {
    case "tables":
      return { ...tableQuery(app) };
    case "flame":
      return flameParameters(app, event);
    case "compare":
      return compareParameters(app);
    case "findings":
    case "tune":
      return {};
    default:
      return { event, by: app.by.peek() };
  }
}

function flameParameters(app: App, event: number): Parameters {
  const { invert, range } = app.flame.peek();
  const marked = app.markedEvents();
  return range && marked ? { from: marked.first, to: marked.last, invert } : { event, invert };
}

function compareParameters(app: App): Parameters {
  const chosen = app.choice.peek();
  const other = chosen && otherChoice(app.choices.peek(), chosen.ref, app.other.peek());
  if (!other) return {};
  const at = compareEvent(app, other);
  return { other: deviceKey(other.ref), at_a: at, at_b: at };
}

export async function copyCommand(app: App): Promise<void> {
  const ref = app.device.peek()?.ref;
  if (!ref) return;
  const device = deviceKey(ref);
  try {
    const path = question("command", { device, view: app.view.peek(), ...commandParameters(app) });
    const { command } = await app.source.json<{ command: string }>(path);
    await copyText(app, command, "command");
  } catch (error) {
    app.toast((error as Error).message, "error");
  }
}
