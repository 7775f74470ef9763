// A canvas that shows the part of a tall picture that is in sight, is painted anew when that changes, and can be
// saved. Browsers refuse canvases of more than some 16,000 pixels, so it is never taller than its window.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { pngOf } from "../shell/pictures.ts";
import { usePicture } from "../state/hooks.ts";
import { CanvasPainter, type Painter, SVGPainter } from "./painter.ts";
import { useColours } from "./tokens.ts";

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

/** The size of an element that scrolls, and how far it is scrolled. */
export function useScroller() {
  const { ref, size } = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const onScroll = () => setTop(element.scrollTop);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, [ref]);
  return { ref, size, top };
}

/** Paints what lies between two heights of the picture. */
export type Paint = (painter: Painter, width: number, from: number, to: number) => void;

interface SurfaceProps {
  name: string;
  /** Of the window. */
  size: Size;
  /** Height of the picture above the window. */
  top: number;
  paint: Paint;
}

/** Paints the part in sight, anew when paint, size or top is another, into a canvas of the window's size, as sharp as the screen is. */
export function Surface({ name, size, top, paint }: SurfaceProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const token = useColours();
  const ground = token("--panel");
  const family = getComputedStyle(document.body).fontFamily;
  const draw = (target: HTMLCanvasElement, scale: number) => {
    target.width = Math.max(1, Math.round(size.width * scale));
    target.height = Math.max(1, Math.round(size.height * scale));
    const context = target.getContext("2d");
    if (!context) return;
    context.scale(scale, scale);
    context.fillStyle = ground;
    context.fillRect(0, 0, size.width, size.height);
    context.translate(0, -top);
    paint(new CanvasPainter(context, family), size.width, top, top + size.height);
  };
  useLayoutEffect(() => {
    if (canvas.current) draw(canvas.current, devicePixelRatio);
  }, [paint, size, top, ground, family]);
  usePicture({
    name,
    png: () => {
      const target = document.createElement("canvas");
      draw(target, savedScale);
      return pngOf(target);
    },
    svg: () => {
      const painter = new SVGPainter(family);
      paint(painter, size.width, top, top + size.height);
      return painter.finish(size.width, size.height, top, ground);
    },
  });
  return (
    <canvas ref={canvas} class="surface" style={{ width: `${size.width}px`, height: `${size.height}px` }} />
  );
}

/** A saved picture has twice the pixels, so that it stays sharp on paper. */
const savedScale = 2;
