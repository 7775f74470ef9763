// What leads back here: a link, and the command that prints the same numbers.

import type { App } from "../state/app.ts";
import { question } from "../state/question.ts";
import { copyText } from "./clipboard.ts";

export function copyLink(app: App): Promise<void> {
  return copyText(app, location.href.replace(/#.*/, "") + app.link.peek(), "link");
}

/** The parameters of what is shown, as the view's own question has them. */
function commandParameters(app: App): Record<string, string | number | boolean | null> {
  const event = app.cursor.peek();
  const view = app.view.peek();
  switch (view) {
    case "tables":
      return {
        view,
        table: app.table.peek(),
        q: app.query.peek(),
        sort: app.sort.peek(),
        event: app.live.peek() ? event : null,
      };
    case "flame":
      return { view, event, invert: app.flame.peek().invert };
    case "compare":
      return { view, ...otherParameter(app) };
    case "findings":
    case "tune":
      return { view };
    default:
      return { view, event, by: app.by.peek() };
  }
}

function otherParameter(app: App): Record<string, string> {
  const other = app.other.peek();
  return other ? { b: `${other.id}/${other.dev}` } : {};
}

export async function copyCommand(app: App): Promise<void> {
  const path = app.path(question("command", commandParameters(app)));
  if (path === null) return;
  try {
    const { command } = await app.source.json<{ command: string }>(path);
    await copyText(app, command, "command");
  } catch (error) {
    app.toast((error as Error).message, "error");
  }
}
