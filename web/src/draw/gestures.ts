// What a pointer, a wheel and fingers on a canvas mean. Points are in CSS pixels from its corner.
//
//	wheel                zoom at the pointer, or move up and down, as the reader set it
//	Ctrl + wheel, pinch  zoom at the pointer
//	Alt + wheel          zoom up and down only
//	Shift, sideways      pan
//	drag                 mark a range;  Space or the middle button: pan;  one finger: pan
//	click, double click  select, zoom in

import type { WheelScheme } from "../state/viewer.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Gestures {
  /** Factors above 1 zoom in. */
  zoom(at: Point, factorX: number, factorY: number): void;
  pan(dx: number, dy: number): void;
  /** A drag: it began at from and is at to, over when done. */
  drag(from: Point, to: Point, done: boolean): void;
  /** A drag was given up. */
  cancel(): void;
  click(at: Point): void;
  hover(at: Point | null): void;
}

/** Pointers that moved less did not move. */
const STILL_PX = 4;

/** A wheel's notch of 100 pixels zooms by a quarter. */
const ZOOM_PER_PX = Math.log(1.25) / 100;

/** Pixels that a line or a page of a wheel stands for. */
const DELTA_UNITS_PX = [1, 16, 400] as const;

/** What a turn of the wheel asks for. */
export function wheelMeans(
  event: Pick<WheelEvent, "deltaX" | "deltaY" | "deltaMode" | "ctrlKey" | "shiftKey" | "altKey">,
  scheme: WheelScheme,
): { zoomX: number; zoomY: number; panX: number; panY: number } {
  const unit = DELTA_UNITS_PX[event.deltaMode as 0 | 1 | 2];
  const dx = event.deltaX * unit;
  const dy = event.deltaY * unit;
  const nothing = { zoomX: 1, zoomY: 1, panX: 0, panY: 0 };
  if (event.shiftKey) return { ...nothing, panX: dy || dx };
  if (!event.ctrlKey && Math.abs(dx) > Math.abs(dy)) return { ...nothing, panX: dx };
  if (scheme === "scroll" && !event.ctrlKey && !event.altKey) return { ...nothing, panY: dy };
  // A trackpad's pinch comes as small steps with Ctrl, and is meant five times stronger.
  const factor = Math.exp(-dy * ZOOM_PER_PX * (event.ctrlKey && Math.abs(dy) < 50 ? 5 : 1));
  return event.altKey ? { ...nothing, zoomY: factor } : { ...nothing, zoomX: factor };
}

/** Listens on target until the result is called. */
export function listen(target: HTMLElement, gestures: Gestures, scheme: () => WheelScheme): () => void {
  const stop = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(
    type: K,
    handle: (event: HTMLElementEventMap[K]) => void,
  ) => target.addEventListener(type, handle, { signal: stop.signal, passive: false });
  const hand = new Hand(target, gestures);
  on("wheel", (event) => {
    event.preventDefault();
    const { zoomX, zoomY, panX, panY } = wheelMeans(event, scheme());
    if (panX !== 0 || panY !== 0) gestures.pan(-panX, -panY);
    else gestures.zoom(hand.place(event), zoomX, zoomY);
  });
  on("pointerdown", (event) => hand.down(event));
  on("pointermove", (event) => hand.move(event));
  on("pointerup", (event) => hand.up(event));
  on("pointercancel", (event) => hand.giveUp(event));
  on("pointerleave", () => gestures.hover(null));
  on("dblclick", (event) => gestures.zoom(hand.place(event), 2, 1));
  addEventListener("keydown", (event) => hand.key(event), { signal: stop.signal, capture: true });
  addEventListener("keyup", (event) => hand.key(event), { signal: stop.signal, capture: true });
  return () => stop.abort();
}

/** The pointers that are down, and what they are doing. */
class Hand {
  private readonly held = new Map<number, Point>();
  private doing: "nothing" | "press" | "drag" | "pan" | "pinch" = "nothing";
  private began: Point = { x: 0, y: 0 };
  private space = false;

  constructor(
    private readonly target: HTMLElement,
    private readonly gestures: Gestures,
  ) {}

  place(event: MouseEvent): Point {
    const box = this.target.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  key(event: KeyboardEvent): void {
    if (event.code === "Escape" && this.doing === "drag") {
      this.doing = "nothing";
      this.gestures.cancel();
    }
    if (event.code !== "Space") return;
    this.space = event.type === "keydown";
    if (document.activeElement === this.target) event.preventDefault(); // or the page scrolls
  }

  down(event: PointerEvent): void {
    if (event.button > 1) return;
    const at = this.place(event);
    this.target.setPointerCapture(event.pointerId);
    this.held.set(event.pointerId, at);
    this.began = at;
    if (event.button === 1) event.preventDefault(); // no scrolling with the middle button
    if (this.held.size === 2) this.doing = "pinch";
    else this.doing = event.button === 1 || this.space || event.pointerType === "touch" ? "pan" : "press";
  }

  move(event: PointerEvent): void {
    const at = this.place(event);
    const before = this.held.get(event.pointerId);
    if (!before) {
      this.gestures.hover(at);
      return;
    }
    if (this.doing === "pinch") this.pinch(event.pointerId, before, at);
    this.held.set(event.pointerId, at);
    if (this.doing === "press" && distance(this.began, at) >= STILL_PX) this.doing = "drag";
    if (this.doing === "drag") this.gestures.drag(this.began, at, false);
    if (this.doing === "pan") this.gestures.pan(at.x - before.x, at.y - before.y);
  }

  up(event: PointerEvent): void {
    const at = this.place(event);
    if (!this.held.delete(event.pointerId)) return;
    if (this.doing === "drag") this.gestures.drag(this.began, at, true);
    else if (this.doing !== "pinch" && this.doing !== "nothing" && distance(this.began, at) < STILL_PX)
      this.gestures.click(at);
    this.doing = this.held.size === 1 ? "pan" : "nothing"; // the finger that stays goes on
  }

  giveUp(event: PointerEvent): void {
    this.held.delete(event.pointerId);
    if (this.doing === "drag") this.gestures.cancel();
    this.doing = "nothing";
  }

  /** Two fingers: the point between them moves with them, and what lies between grows as they part. */
  private pinch(id: number, before: Point, at: Point): void {
    const other = [...this.held].find(([each]) => each !== id)?.[1];
    if (!other) return;
    const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 };
    const factor = Math.max(1, distance(at, other)) / Math.max(1, distance(before, other));
    this.gestures.zoom(middle, factor, 1);
    this.gestures.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
  }
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
