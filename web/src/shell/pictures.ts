// Saves what a view shows as a file.

import type { App } from "../state/app.ts";

export async function savePicture(app: App, form: "png" | "svg"): Promise<void> {
  const picture = app.picture.peek();
  if (!picture) {
    app.toast("this view is no drawing; Tables saves rows as CSV");
    return;
  }
  try {
    const svg = form === "svg" ? picture.svg?.() : undefined;
    if (form === "svg" && svg === undefined) app.toast("this view is made of pixels: it is saved as PNG");
    const blob = svg === undefined ? await picture.png() : new Blob([svg], { type: "image/svg+xml" });
    saveBlob(blob, `${picture.name}.${svg === undefined ? "png" : "svg"}`);
    app.toast(`saved ${picture.name}.${svg === undefined ? "png" : "svg"}`);
  } catch (error) {
    app.toast(`the picture could not be made: ${(error as Error).message}`, "error");
  }
}

/** Hands the reader a file. */
export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser reads the blob after the click; a minute is ample.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A canvas as a PNG. */
export function pngOf(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser gave no picture"))));
  });
}
