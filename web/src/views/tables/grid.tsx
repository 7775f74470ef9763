// A grid of any number of rows: only those in sight are in the page. One row is current; arrows move it,
// Enter selects what it is about.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSize } from "../../paint/surface.tsx";
import { Blank } from "../../shell/ui.tsx";
import { useActions, useApp } from "../../state/hooks.ts";
import type { TableAnswer } from "../../state/types.ts";
import { rowAfter } from "./keys.ts";
import { HeadRow, Row, shownOrder } from "./row.tsx";
import { type Rows, type TableQuery, useRows } from "./rows.ts";
import { selectRow } from "./select.ts";
import {
  afterWheel,
  type Extent,
  fittingRows,
  revealing,
  scrollHeight,
  scrollTopOf,
  topAt,
  visibleRows,
} from "./virtual.ts";

export const rowHeight = 24;

interface GridProps {
  query: TableQuery;
  head: (answer: TableAnswer | null) => ComponentChildren;
  failed: (error: Error) => ComponentChildren;
}

export function Grid({ query, head, failed }: GridProps) {
  const app = useApp();
  const { ref, size } = useSize<HTMLDivElement>();
  const [rows, setRows] = useState(0);
  const extent: Extent = { rows, rowHeight, height: Math.max(0, size.height - rowHeight) };
  const { top, setTop, current, go } = useCurrentRow(extent, JSON.stringify(query));
  const { first, end } = visibleRows(extent, top);
  const found = useRows(query, first, Math.max(end, first + 1));
  const matching = found.answer?.matching ?? rows;
  useEffect(() => setRows(matching), [matching]);
  useScrollBar(ref, extent, top, setTop);
  const choose = (row: number) => {
    go(row);
    selectRow(app, query.what, found.answer, found.row(row));
  };
  const nothing = found.answer !== null && matching === 0;
  return (
    <>
      {head(found.answer)}
      {found.error ? failed(found.error) : nothing && <NothingFound query={query} />}
      <div
        ref={ref}
        class={found.error || nothing ? "grid unseen" : "grid"}
        role="grid"
        aria-label={`Table of ${query.what}`}
        aria-rowcount={rows + 1}
        aria-colcount={found.answer?.columns.length}
        aria-activedescendant={rows > 0 ? `row-${current}` : undefined}
        tabIndex={0}
        onKeyDown={(event) => {
          const next = rowAfter(event, current, rows, fittingRows(extent));
          if (next !== null) go(next);
          else if (event.key === "Enter" && event.target === event.currentTarget) choose(current);
          else return;
          event.preventDefault();
        }}
      >
        <div class="grid-room" style={{ height: `${scrollHeight(extent) + rowHeight}px` }}>
          <GridRows {...{ query, found, first, end, top, current, choose }} />
        </div>
      </div>
    </>
  );
}

/** The row that arrows move, and the first in sight. Another query begins at its first row. */
function useCurrentRow(extent: Extent, query: string) {
  const [top, setTop] = useState(0);
  const [current, setCurrent] = useState(0);
  useEffect(() => {
    setTop(0);
    setCurrent(0);
  }, [query]);
  const go = (row: number) => {
    const next = Math.max(0, Math.min(extent.rows - 1, row));
    setCurrent(next);
    setTop(revealing(extent, top, next));
  };
  const page = fittingRows(extent);
  useActions({
    "pan-up": ({ fast }) => go(current - (fast ? page : 1)),
    "pan-down": ({ fast }) => go(current + (fast ? page : 1)),
  });
  return { top, setTop, current, go };
}

interface GridRowsProps {
  query: TableQuery;
  found: Rows;
  first: number;
  end: number;
  top: number;
  current: number;
  choose: (row: number) => void;
}

/** The head, and the rows from first up to, not with, end. */
function GridRows({ query, found, first, end, top, current, choose }: GridRowsProps) {
  const columns = found.answer?.columns ?? [];
  const order = shownOrder(columns);
  const ordinals = Array.from({ length: end - first }, (_, i) => first + i);
  return (
    <div class="grid-rows" role="rowgroup">
      <HeadRow query={query} columns={order.map((place) => columns[place]!)} />
      {ordinals.map((index) => (
        <Row
          key={index}
          index={index}
          top={(index - top) * rowHeight}
          cells={found.row(index)}
          order={order}
          columns={columns}
          current={index === current}
          onPick={() => choose(index)}
        />
      ))}
    </div>
  );
}

/** Keeps the scroll bar and the first row in step, whichever of them is moved. */
function useScrollBar(
  ref: RefObject<HTMLDivElement | null>,
  extent: Extent,
  top: number,
  setTop: (top: number) => void,
): void {
  const set = useRef(-1); // where the bar was put by us: its scroll event says nothing new
  const latest = useRef({ extent, top });
  latest.current = { extent, top };
  useLayoutEffect(() => {
    const element = ref.current;
    const wanted = scrollTopOf(extent, top);
    if (!element || Math.abs(element.scrollTop - wanted) < 1) return;
    element.scrollTop = wanted;
    set.current = element.scrollTop;
  });
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const onScroll = () => {
      if (Math.abs(element.scrollTop - set.current) < 1) return;
      set.current = -1;
      setTop(topAt(latest.current.extent, element.scrollTop));
    };
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? rowHeight : 1);
      setTop(afterWheel(latest.current.extent, latest.current.top, pixels));
    };
    element.addEventListener("scroll", onScroll);
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      element.removeEventListener("scroll", onScroll);
      element.removeEventListener("wheel", onWheel);
    };
  }, [ref, setTop]);
}

function NothingFound({ query }: { query: TableQuery }) {
  return (
    <Blank title={`No ${query.what} ${query.q ? "match" : "here"}`}>
      {query.q
        ? "Change the words in the search box, or empty it with Escape."
        : "Nothing of the kind is in the recording, or in the part that was chosen."}
    </Blank>
  );
}
