// Copies text, and says whether it worked.

import type { App } from "../state/app.ts";

export async function copyText(app: App, text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyBySelection(text)) {
      app.toast(`the browser did not let the ${what} be copied: ${text}`, "error");
      return;
    }
  }
  app.toast(`${what} copied`);
}

/** The way that works in a page from disk, where the clipboard is not open to scripts. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  const before = document.activeElement;
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}
