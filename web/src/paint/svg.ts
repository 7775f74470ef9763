// An SVG of the page as a file of its own: custom properties, which only the page knows, become colours.

import type { Theme } from "../state/viewer.ts";
import { colourOf } from "./tokens.ts";

export function standaloneSVG(element: SVGSVGElement, theme: Theme): string {
  const resolve = (text: string) =>
    text.replace(/var\((--[\w-]+)\)/g, (_, name: string) => colourOf(name, theme));
  const copy = element.cloneNode(true) as SVGSVGElement;
  copy.removeAttribute("aria-hidden");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", getComputedStyle(element).fontFamily);
  const ground = `<rect width="100%" height="100%" fill="${resolve("var(--panel)")}"/>`;
  return resolve(copy.outerHTML).replace(/>/, `>${ground}`);
}

/** Twice the pixels, so that it stays sharp on paper. */
const scale = 2;

/** The SVG as a PNG. */
export async function pngOfSVG(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) => {
    canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the browser gave no picture"))));
  });
}
