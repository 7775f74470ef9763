// Brings key presses to the actions of what is shown. A key that a part of the page has used already, or that belongs to
// the field in which it was pressed, is left alone.

import type { App } from "../state/app.ts";
import { type Hotkey, lookUp } from "../state/keys.ts";

export function listenToKeys(app: App, lettersOff: () => boolean): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const found = lookUp(event);
    if (!found || !meant(event, found.hotkey, lettersOff())) return;
    const { action } = found.hotkey;
    if (action === "clear" && event.target instanceof HTMLSelectElement) event.target.blur(); // keys are the page's again
    if (app.dialog.peek() && action !== "clear") return;
    if (app.act(action, { fast: found.fast })) event.preventDefault();
  });
}

function meant(event: KeyboardEvent, hotkey: Hotkey, lettersOff: boolean): boolean {
  if (hotkey.action === "clear" || event.ctrlKey || event.metaKey) return true;
  if (lettersOff && event.key.length === 1) return false;
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return true;
  if (
    target.isContentEditable ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  )
    return false;
  if (!(target instanceof HTMLInputElement)) return true;
  const clicked = target.type === "radio" || target.type === "checkbox";
  return clicked && !event.code.startsWith("Arrow");
}
