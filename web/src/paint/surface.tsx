// A canvas that fills its place, is painted anew when its paint changes, and can be saved as a picture.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { pngOf } from "../shell/pictures.ts";
import { useApp, usePicture } from "../state/hooks.ts";
import { CanvasPainter, type Painter, SVGPainter } from "./painter.ts";

export interface Size {
  width: number;
  height: number;
}

/** The size of an element, kept up to date. */
export function useSize<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return { ref, size };
}

/** Values of the theme's custom properties, as they are now. */
export function useTokens(): (name: string) => string {
  const { theme } = useApp();
  theme.value; // a change of theme paints anew
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(name).trim();
}

export type Paint = (painter: Painter, size: Size) => void;

interface SurfaceProps {
  name: string;
  size: Size;
  paint: Paint;
}

/** Pixels beyond which a picture is not saved whole: browsers refuse larger canvases. */
const largestPixels = 64e6;

/** Paints into a canvas of the size, as sharp as the screen is. */
export function Surface({ name, size, paint }: SurfaceProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const token = useTokens();
  const ground = token("--panel");
  const family = token("--font");
  const draw = (target: HTMLCanvasElement, scale: number) => {
    target.width = Math.max(1, Math.round(size.width * scale));
    target.height = Math.max(1, Math.round(size.height * scale));
    const context = target.getContext("2d");
    if (!context) return;
    context.scale(scale, scale);
    context.fillStyle = ground;
    context.fillRect(0, 0, size.width, size.height);
    paint(new CanvasPainter(context, family), size);
  };
  useLayoutEffect(() => {
    if (canvas.current) draw(canvas.current, devicePixelRatio);
  });
  usePicture({
    name,
    png: () => {
      const target = document.createElement("canvas");
      draw(target, Math.min(2, Math.sqrt(largestPixels / Math.max(1, size.width * size.height))));
      return pngOf(target);
    },
    svg: () => {
      const painter = new SVGPainter(family);
      paint(painter, size);
      return painter.finish(size.width, size.height, ground);
    },
  });
  return (
    <canvas
      ref={canvas}
      aria-hidden="true"
      class="surface"
      style={{ width: `${size.width}px`, height: `${size.height}px` }}
    />
  );
}
