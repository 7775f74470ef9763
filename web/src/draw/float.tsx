// A note beside the pointer, kept within the picture. It follows the pointer without drawing
// the view anew: its place is set on the element, and its text is a signal.

import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Point } from "./gestures.ts";

const AWAY_PX = 14;

export function Float({ at, children }: { at: Signal<Point | null>; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const place = at.value;
  useLayoutEffect(() => {
    const element = box.current;
    const around = element?.parentElement;
    if (!element || !around || !place) return;
    const { offsetWidth: width, offsetHeight: height } = element;
    const right = place.x + AWAY_PX;
    const left = right + width > around.clientWidth ? Math.max(4, place.x - AWAY_PX - width) : right;
    const top = Math.min(place.y + AWAY_PX, around.clientHeight - height - 4);
    element.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(4, top))}px)`;
  });
  if (!place || !children) return null;
  return (
    <div class="float" ref={box} aria-hidden="true">
      {children}
    </div>
  );
}
