// The drawn flame graph: boxes, what the pointer and the keys do with them.

import { useMemo, useState } from "preact/hooks";
import { type Paint, Surface, useScroller } from "../../paint/surface.tsx";
import { colourOf } from "../../paint/tokens.ts";
import { useActions, useApp } from "../../state/hooks.ts";
import { namesSought, soughtIn } from "../../state/query.ts";
import type { FlameAnswer } from "../../state/types.ts";
import { formatBytes, formatPlural, formatShare } from "../../units/units.ts";
import { boxColours } from "./colours.ts";
import { boxAt, childrenOf, type FlameBox, layoutFlame, nodeAt, zoomPath } from "./layout.ts";

const rowHeight = 19;
/** Narrower boxes are not drawn: they could not be told apart. */
const leastWidth = 1;

export function FlamePicture({ answer }: { answer: FlameAnswer }) {
  const app = useApp();
  const { ref, size, top } = useScroller();
  const [active, setActive] = useState<number>(-1);
  const [pointed, setPointed] = useState<{ box: FlameBox; x: number; y: number } | null>(null);
  const zoom = nodeAt(answer.nodes, app.flame.value.zoom);
  const layout = useMemo(() => layoutFlame(answer, zoom, size.width, leastWidth), [answer, zoom, size.width]);
  const paint = usePaint(answer, layout.boxes, pointed?.box.node ?? active);
  const zoomTo = (node: number) => {
    app.flame.value = { ...app.flame.peek(), zoom: zoomPath(answer.nodes, node) };
    app.say(node < 0 ? "all calls" : `zoomed to ${describe(answer, node)}`);
  };
  useFlameKeys(answer, active < 0 ? zoom : active, zoom, zoomTo, (node) => {
    setActive(node);
    app.say(describe(answer, node));
  });
  const find = (event: MouseEvent) => {
    const corner = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return boxAt(layout, event.clientX - corner.left, event.clientY - corner.top, rowHeight);
  };
  return (
    <div ref={ref} class="flame-scroll">
      {/* The arrows and Enter are keys of the page */}
      <div
        class="flame"
        style={{ height: `${Math.max(layout.depth * rowHeight, size.height)}px` }}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is walked by arrows
        tabIndex={0}
        role="application"
        aria-roledescription="flame graph"
        aria-label={`Flame graph of ${formatBytes(answer.total_bytes)}. Arrows walk through the calls, Enter zooms, 0 shows all.`}
        onClick={(event) => {
          const box = find(event);
          if (box) zoomTo(box.node === zoom ? (answer.nodes.parent[box.node] ?? -1) : box.node);
        }}
        onMouseMove={(event) => {
          const box = find(event);
          setPointed(box && { box, x: event.clientX, y: event.clientY });
        }}
        onMouseLeave={() => setPointed(null)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && active >= 0) zoomTo(active);
        }}
      >
        <Surface name="flame" size={size} top={top} paint={paint} />
      </div>
      {layout.narrow > 0 && (
        <p class="quiet flame-note">
          {formatPlural(layout.narrow, "call is", "calls are")} too narrow to be drawn at this zoom.
        </p>
      )}
      {pointed && <FlameTip answer={answer} node={pointed.box.node} x={pointed.x} y={pointed.y} />}
    </div>
  );
}

function describe(answer: FlameAnswer, node: number): string {
  const bytes = answer.nodes.bytes[node] ?? 0;
  return `${nameOf(answer, node)}, ${formatBytes(bytes)}, ${formatShare(bytes, answer.total_bytes)}`;
}

export function nameOf(answer: FlameAnswer, node: number): string {
  return answer.names[answer.nodes.name[node] ?? -1] ?? "?";
}

function usePaint(answer: FlameAnswer, boxes: readonly FlameBox[], active: number): Paint {
  const app = useApp();
  const theme = app.theme.value;
  const query = app.query.value;
  return useMemo(() => {
    const words = namesSought(query);
    const token = (name: string) => colourOf(name, theme);
    const colours = boxColours(token);
    return (painter, _width, from, to) => {
      for (const { node, x, width, depth, above } of boxes) {
        if ((depth + 1) * rowHeight < from || depth * rowHeight > to) continue;
        const name = nameOf(answer, node);
        const found = words.length === 0 || soughtIn(name, words);
        const kind = answer.nodes.kind[node];
        const { fill, ink } = colours(name, kind, words.length > 0 && found, above || !found);
        const y = depth * rowHeight;
        const drawn = Math.max(1, width - (width > 3 ? 1 : 0));
        painter.rect(x, y, drawn, rowHeight - 1, fill);
        painter.text(name, x + 5, y + rowHeight / 2, ink, drawn - 9);
        if (node === active) painter.outline(x, y, drawn, rowHeight - 1, token("--text"), 2);
      }
    };
  }, [answer, boxes, active, theme, query]);
}

/** Arrows walk from the active call to its callers, callees and siblings. */
function useFlameKeys(
  answer: FlameAnswer,
  at: number,
  zoom: number,
  zoomTo: (node: number) => void,
  go: (node: number) => void,
): void {
  const { nodes } = answer;
  const parent = at < 0 ? -1 : (nodes.parent[at] ?? -1);
  const sibling = (step: number) => {
    const siblings = childrenOf(nodes, parent);
    const next = siblings[siblings.indexOf(at) + step] ?? (at < 0 ? siblings[0] : undefined);
    if (next !== undefined) go(next);
  };
  useActions({
    "pan-down": () => {
      const [first] = childrenOf(nodes, at);
      if (first !== undefined) go(first);
    },
    "pan-up": () => {
      if (parent >= 0) go(parent);
    },
    "pan-left": () => sibling(-1),
    "pan-right": () => sibling(1),
    "zoom-in": () => {
      if (at >= 0) zoomTo(at);
    },
    "zoom-out": () => zoomTo(zoom < 0 ? -1 : (nodes.parent[zoom] ?? -1)),
    fit: () => zoomTo(-1),
  });
}

function FlameTip({ answer, node, x, y }: { answer: FlameAnswer; node: number; x: number; y: number }) {
  const bytes = answer.nodes.bytes[node] ?? 0;
  return (
    <div class="tip" style={{ left: `${x + 14}px`, top: `${y + 14}px` }}>
      <div class="mono">{nameOf(answer, node)}</div>
      <strong>{formatBytes(bytes)}</strong>{" "}
      <span class="quiet">
        {formatShare(bytes, answer.total_bytes)} ·{" "}
        {formatPlural(answer.nodes.blocks[node] ?? 0, "block", "blocks")}
      </span>
    </div>
  );
}
