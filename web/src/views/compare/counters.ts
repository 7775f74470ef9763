// The curves of one device as a whole: the counters' coarsest tile.

import { useEffect, useState } from "preact/hooks";
import type { DeviceRef } from "../../source/api.ts";
import { useApp } from "../../state/hooks.ts";
import { along, pathOf, rootLevel } from "../../tiles/address.ts";
import { type CountersTile, decodeTile } from "../../tiles/decode.ts";

export interface Counters {
  /** Where each bucket begins. */
  events: Float64Array;
  us: Float64Array | null;
  /** The largest within each bucket: no peak is lost. */
  allocated: Float64Array;
  reserved: Float64Array;
}

/** The counters of a device; null while they are asked for. */
export function useCounters(
  { id, dev }: DeviceRef,
  events: number,
): { counters: Counters | null; error: Error | null } {
  const app = useApp();
  const [state, setState] = useState<{ counters: Counters | null; error: Error | null }>({
    counters: null,
    error: null,
  });
  useEffect(() => {
    const abort = new AbortController();
    const path = `rec/${id}/${dev}/tile/${pathOf({ kind: "counters" }, along(rootLevel(events), 0))}`;
    setState({ counters: null, error: null });
    app.source.tile(path, abort.signal).then(
      (bytes) => abort.signal.aborted || setState({ counters: countersOf(decodeTile(bytes)), error: null }),
      (error: Error) => abort.signal.aborted || setState({ counters: null, error }),
    );
    return () => abort.abort();
  }, [app, id, dev, events]);
  return state;
}

function countersOf(tile: ReturnType<typeof decodeTile>): Counters {
  if (tile.kind !== "counters") throw new Error(`expected a tile of counters, got ${tile.kind}`);
  const count = tile.nx;
  return {
    events: Float64Array.from(tile.edge.subarray(0, count)),
    us: tile.time && timesOf(tile, count),
    allocated: tile.allocated.max.slice(0, count),
    reserved: tile.reserved.max.slice(0, count),
  };
}

/** Times since the first event, whatever the clock of the tile begins with. */
function timesOf(tile: CountersTile, count: number): Float64Array {
  const times = tile.time?.slice(0, count) ?? new Float64Array(0);
  const first = times[0] ?? 0;
  return times.map((time) => time - first);
}
