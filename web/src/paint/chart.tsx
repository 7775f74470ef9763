// A chart of a few step lines over one axis, as SVG in the page: at most some thousand points each. The arrows
// move a cursor over it, whose values are listed and spoken.

import { useState } from "preact/hooks";
import { byteTicks, type Tick } from "../draw/axis.ts";
import { lastAtMost } from "../draw/clock.ts";
import { useActions, useApp, usePicture } from "../state/hooks.ts";
import { formatBytes } from "../units/units.ts";
import { useSize } from "./surface.tsx";
import { pngOfSVG, standaloneSVG } from "./svg.ts";

export interface Line {
  name: string;
  /** A custom property of the theme. */
  color: string;
  /** Where the line takes each of its values, ascending. */
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  dash?: string;
}

/** A height of its own: a limit, a capacity. */
export interface Level {
  name: string;
  y: number;
}

interface ChartProps {
  name: string;
  label: string;
  lines: readonly Line[];
  levels?: readonly Level[];
  from: number;
  to: number;
  ticks: (span: { from: number; to: number }, pixels: number) => Tick[];
  xText: (x: number) => string;
}

const edge = { left: 76, right: 14, top: 12, bottom: 26 } as const;

/** A step of the cursor, as a share of the width. */
const stride = 1 / 200;

export function Chart(props: ChartProps) {
  const { name, label, lines, levels = [], from, to } = props;
  const app = useApp();
  const { ref, size } = useSize<HTMLDivElement>();
  const [cursor, setCursor] = useState<number | null>(null);
  const frame = new Frame(size.width, size.height, from, to, highest(lines, levels));
  const move = (share: number) => {
    const next = Math.min(to, Math.max(from, (cursor ?? from) + share * (to - from)));
    setCursor(next);
    app.say(
      `${props.xText(next)}: ${lines.map((line) => `${line.name} ${formatBytes(valueAt(line, next))}`).join(", ")}`,
    );
  };
  useActions({
    "pan-left": ({ fast }) => move(fast ? -10 * stride : -stride),
    "pan-right": ({ fast }) => move(fast ? 10 * stride : stride),
  });
  const svg = () => standaloneSVG(ref.current?.querySelector("svg") as SVGSVGElement, app.theme.peek());
  usePicture({ name, png: () => pngOfSVG(svg()), svg });
  return (
    <>
      <div
        ref={ref}
        class="chart"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its cursor is moved by arrows
        tabIndex={0}
        role="application"
        aria-roledescription="chart"
        aria-label={label}
        onMouseMove={(event) => {
          const left = event.currentTarget.getBoundingClientRect().left;
          setCursor(frame.valueX(event.clientX - left));
        }}
        onMouseLeave={() => setCursor(null)}
      >
        {size.width > 0 && (
          <Drawing
            {...{ frame, lines, levels, cursor }}
            ticks={props.ticks({ from, to }, frame.innerWidth)}
          />
        )}
      </div>
      <ChartLegend lines={lines} at={cursor} where={cursor === null ? "" : props.xText(cursor)} />
    </>
  );
}

interface DrawingProps {
  frame: Frame;
  lines: readonly Line[];
  levels: readonly Level[];
  ticks: readonly Tick[];
  cursor: number | null;
}

function Drawing({ frame, lines, levels, ticks, cursor }: DrawingProps) {
  const at = cursor === null ? 0 : frame.x(cursor);
  return (
    <svg width={frame.width} height={frame.height} aria-hidden="true">
      <Axes frame={frame} ticks={ticks} />
      {levels.map((level) => (
        <LevelLine key={level.name} frame={frame} level={level} />
      ))}
      {lines.map((line) => (
        <path
          key={line.name}
          d={stepPath(frame, line)}
          fill="none"
          stroke={`var(${line.color})`}
          stroke-width="1.5"
          stroke-dasharray={line.dash}
        />
      ))}
      {cursor !== null && (
        <line x1={at} x2={at} y1={edge.top} y2={frame.height - edge.bottom} stroke="var(--text-quiet)" />
      )}
    </svg>
  );
}

/** From amounts to pixels and back. */
class Frame {
  readonly innerWidth: number;
  readonly innerHeight: number;

  constructor(
    readonly width: number,
    readonly height: number,
    private readonly from: number,
    private readonly to: number,
    readonly top: number,
  ) {
    this.innerWidth = Math.max(1, width - edge.left - edge.right);
    this.innerHeight = Math.max(1, height - edge.top - edge.bottom);
  }

  x(value: number): number {
    return round(edge.left + ((value - this.from) / Math.max(1e-9, this.to - this.from)) * this.innerWidth);
  }

  y(value: number): number {
    return round(edge.top + (1 - value / this.top) * this.innerHeight);
  }

  valueX(pixels: number): number {
    const share = (pixels - edge.left) / this.innerWidth;
    return this.from + Math.min(1, Math.max(0, share)) * (this.to - this.from);
  }
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

function highest(lines: readonly Line[], levels: readonly Level[]): number {
  let most = 1;
  for (const { y } of lines) for (let i = 0; i < y.length; i++) most = Math.max(most, y[i] ?? 0);
  // A capacity far above all that happens would press the lines to the ground.
  for (const { y } of levels) if (y < most * 1.6) most = Math.max(most, y);
  return most * 1.04;
}

/** A line's value at x: what it took last. */
function valueAt({ x, y }: Pick<Line, "x" | "y">, at: number): number {
  return y[Math.max(0, lastAtMost(x, at))] ?? 0;
}

function stepPath(frame: Frame, { x, y }: Line): string {
  let path = "";
  for (let i = 0; i < y.length; i++) {
    const at = frame.x(x[i] ?? 0);
    path += i === 0 ? `M${at} ${frame.y(y[i] ?? 0)}` : `H${at}V${frame.y(y[i] ?? 0)}`;
  }
  return path;
}

/** Words at an end of the axis stay within the picture. */
function anchorOf(frame: Frame, x: number): "start" | "middle" | "end" {
  if (x < edge.left + 20) return "start";
  return x > frame.width - edge.right - 20 ? "end" : "middle";
}

function Axes({ frame, ticks }: { frame: Frame; ticks: readonly Tick[] }) {
  const bottom = frame.height - edge.bottom;
  return (
    <g font-size="11" fill="var(--text-quiet)">
      {byteTicks({ from: 0, to: frame.top }, frame.innerHeight).map(({ value, label }) => (
        <g key={value}>
          <line
            x1={edge.left}
            x2={frame.width - edge.right}
            y1={frame.y(value)}
            y2={frame.y(value)}
            stroke="var(--line)"
          />
          <text x={edge.left - 8} y={frame.y(value)} dy="0.35em" text-anchor="end">
            {label}
          </text>
        </g>
      ))}
      {ticks.map(({ value, label }) => (
        <text key={value} x={frame.x(value)} y={bottom + 17} text-anchor={anchorOf(frame, frame.x(value))}>
          {label}
        </text>
      ))}
      <line
        x1={edge.left}
        x2={frame.width - edge.right}
        y1={bottom}
        y2={bottom}
        stroke="var(--line-strong)"
      />
    </g>
  );
}

function LevelLine({ frame, level }: { frame: Frame; level: Level }) {
  if (level.y > frame.top) return null;
  const y = frame.y(level.y);
  return (
    <g font-size="11" fill="var(--bad)">
      <line
        x1={edge.left}
        x2={frame.width - edge.right}
        y1={y}
        y2={y}
        stroke="var(--bad)"
        stroke-dasharray="6 4"
      />
      <text x={frame.width - edge.right - 4} y={y - 5} text-anchor="end">
        {level.name}
      </text>
    </g>
  );
}

function ChartLegend({ lines, at, where }: { lines: readonly Line[]; at: number | null; where: string }) {
  return (
    <ul class="legend">
      {lines.map((line) => (
        <li key={line.name}>
          <svg width="22" height="8" aria-hidden="true">
            <line
              x1="0"
              x2="22"
              y1="4"
              y2="4"
              stroke={`var(${line.color})`}
              stroke-width="2"
              stroke-dasharray={line.dash}
            />
          </svg>
          {line.name}
          {at !== null && <strong>{formatBytes(valueAt(line, at))}</strong>}
        </li>
      ))}
      <li class="quiet">{where}</li>
    </ul>
  );
}
