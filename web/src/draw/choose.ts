// Which back end draws.

import type { RendererChoice } from "../state/viewer.ts";
import { Canvas2D } from "./canvas2d.ts";
import type { Renderer } from "./renderer.ts";
import { WebGL2 } from "./webgl2.ts";

/** Drivers that compute WebGL on the processor, slower by ten than the 2D canvas: 100,000 rectangles take 2.4 s. */
const SOFTWARE = /swiftshader|llvmpipe|software|basic render/i;

/** Whether WebGL2 is there and drawn by a graphics card. */
function hasFastWebGL(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!gl) return false;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !SOFTWARE.test(name);
}

/** The back end for a canvas: what ?renderer= or the state asks for, else WebGL2 where it is fast. */
export function createRenderer(canvas: HTMLCanvasElement, choice: RendererChoice, search: string): Renderer {
  const asked = new URLSearchParams(search).get("renderer") ?? choice;
  const webgl = asked === "webgl" || (asked !== "canvas" && hasFastWebGL());
  return (webgl ? WebGL2.on(canvas) : null) ?? new Canvas2D(canvas);
}
