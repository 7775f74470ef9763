// Where a view draws: a canvas for the picture, one above it for text and what follows the
// pointer, and the size of both kept in step with the page. A frame is drawn when something
// asked for one, at the browser's next turn.

import { useEffect, useRef } from "preact/hooks";
import { useApp } from "../state/hooks.ts";
import { createRenderer } from "./choose.ts";
import { type Gestures, listen } from "./gestures.ts";
import { Theme } from "./palette.ts";
import { CanvasPen, type Pen } from "./pen.ts";
import type { Renderer } from "./renderer.ts";
import { Drawing, SVGPen, SVGRenderer } from "./svg.ts";
import "./palette.css";
import "./stage.css";

/** What a frame is drawn with. Sizes are CSS pixels; ratio is the screen's pixels in one. */
export interface Frame {
  readonly renderer: Renderer;
  readonly pen: Pen;
  readonly theme: Theme;
  readonly width: number;
  readonly height: number;
  readonly ratio: number;
}

/** How a view has itself drawn again. */
export interface Painter {
  /** Both canvases. */
  repaint(): void;
  /** Only the one above. */
  retouch(): void;
  /** The picture as it is shown, with all that lies above it. */
  png(): Promise<Blob>;
  /** The same as an SVG. */
  svg(): string;
}

interface StageProps {
  readonly label: string;
  /** Id of the element that says how to move about in the picture. */
  readonly describedBy?: string;
  /** Paints the picture, and tells whether it is as it shall be: nothing that it needs is still on its way. */
  readonly paint: (frame: Frame) => boolean;
  /** Paints what lies above; its canvas is empty when it is called. */
  readonly touch: (frame: Frame) => void;
  readonly gestures: Gestures;
  readonly painter: { current: Painter | null };
}

export function Stage({ label, describedBy, paint, touch, gestures, painter }: StageProps) {
  const app = useApp();
  const base = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const probe = useRef<HTMLElement>(null);
  const latest = useRef({ paint, touch, gestures });
  latest.current = { paint, touch, gestures };
  const choice = app.renderer.value;

  useEffect(() => {
    const loop = new Loop(base.current!, above.current!, probe.current!, choice, latest);
    painter.current = loop;
    const forget = app.theme.subscribe(() => loop.recolour());
    const deaf = listen(
      above.current!,
      {
        zoom: (...args) => latest.current.gestures.zoom(...args),
        pan: (...args) => latest.current.gestures.pan(...args),
        drag: (...args) => latest.current.gestures.drag(...args),
        cancel: () => latest.current.gestures.cancel(),
        click: (at) => latest.current.gestures.click(at),
        hover: (at) => latest.current.gestures.hover(at),
      },
      () => app.wheel.peek(),
    );
    return () => {
      painter.current = null;
      forget();
      deaf();
      loop.close();
    };
  }, [choice]);

  return (
    <div class="stage">
      <span ref={probe} hidden />
      <canvas ref={base} key={choice} />
      <canvas
        ref={above}
        class="above"
        tabIndex={0}
        role="img"
        aria-label={label}
        aria-describedby={describedBy}
      />
    </div>
  );
}

interface Painting {
  readonly current: Pick<StageProps, "paint" | "touch">;
}

/** Draws at most once a turn of the browser. */
class Loop implements Painter {
  private readonly renderer: Renderer;
  private readonly context: CanvasRenderingContext2D;
  private readonly pen: Pen;
  private readonly sizes: ResizeObserver;
  private theme: Theme;
  private pending: "nothing" | "touch" | "all" = "nothing";
  private turn = 0;

  constructor(
    private readonly base: HTMLCanvasElement,
    private readonly above: HTMLCanvasElement,
    private readonly probe: HTMLElement,
    choice: Parameters<typeof createRenderer>[1],
    private readonly latest: Painting,
  ) {
    this.renderer = createRenderer(base, choice, location.search);
    this.context = above.getContext("2d")!;
    this.pen = new CanvasPen(this.context);
    this.theme = new Theme(probe);
    base.dataset.renderer = this.renderer.name;
    this.sizes = new ResizeObserver(() => this.draw("all")); // at once: a stretched picture flickers
    this.sizes.observe(above);
    base.addEventListener("webglcontextrestored", () => this.repaint());
  }

  repaint(): void {
    this.ask("all");
  }

  retouch(): void {
    this.ask("touch");
  }

  recolour(): void {
    // The theme's attribute is set by a listener that may come after this one.
    requestAnimationFrame(() => {
      this.theme = new Theme(this.probe);
      this.repaint();
    });
  }

  png(): Promise<Blob> {
    this.draw("all"); // WebGL may have forgotten the last frame
    const whole = document.createElement("canvas");
    whole.width = this.base.width;
    whole.height = this.base.height;
    const pen = whole.getContext("2d")!;
    pen.drawImage(this.base, 0, 0);
    pen.drawImage(this.above, 0, 0);
    return new Promise((done, fail) => {
      whole.toBlob((blob) => (blob ? done(blob) : fail(new Error("the browser made no picture of it"))));
    });
  }

  svg(): string {
    const { clientWidth: width, clientHeight: height } = this.above;
    const drawing = new Drawing();
    const renderer = new SVGRenderer(drawing);
    const frame: Frame = { renderer, pen: new SVGPen(drawing), theme: this.theme, width, height, ratio: 1 };
    renderer.begin(width, height, this.theme.colour("--panel"));
    this.latest.current.paint(frame);
    this.latest.current.touch(frame);
    this.repaint(); // what the pointer finds is in pixels of the last painting
    return drawing.finish(width, height);
  }

  close(): void {
    cancelAnimationFrame(this.turn);
    this.sizes.disconnect();
    this.renderer.close();
  }

  private ask(what: "touch" | "all"): void {
    if (this.pending === "nothing") this.turn = requestAnimationFrame(() => this.draw(this.pending));
    if (this.pending !== "all") this.pending = what;
  }

  private draw(what: "nothing" | "touch" | "all"): void {
    this.pending = "nothing";
    cancelAnimationFrame(this.turn);
    const { clientWidth: width, clientHeight: height } = this.above;
    if (width === 0 || height === 0) return;
    const ratio = devicePixelRatio;
    const frame: Frame = { renderer: this.renderer, pen: this.pen, theme: this.theme, width, height, ratio };
    if (what === "all") {
      this.renderer.begin(
        Math.round(width * ratio),
        Math.round(height * ratio),
        this.theme.colour("--panel"),
      );
      this.base.dataset.settled = String(this.latest.current.paint(frame));
      this.renderer.end();
    }
    this.clearAbove(width, height, ratio);
    this.latest.current.touch(frame);
  }

  private clearAbove(width: number, height: number, ratio: number): void {
    const { above, context } = this;
    if (above.width !== Math.round(width * ratio)) above.width = Math.round(width * ratio);
    if (above.height !== Math.round(height * ratio)) above.height = Math.round(height * ratio);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, above.width, above.height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
}
