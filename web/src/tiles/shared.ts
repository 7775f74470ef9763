// The tiles and the clock of a device, which all views of it share.

import { Clock, type Points } from "../draw/clock.ts";
import type { Source } from "../source/source.ts";
import type { OpenDevice } from "../state/viewer.ts";
import type { CountersTile } from "./decode.ts";
import { TileStore } from "./store.ts";

export class DeviceTiles {
  readonly store: TileStore;
  /** Null where the recording has no times. */
  readonly clock: Clock | null;
  private readonly listeners = new Set<() => void>();

  constructor(device: OpenDevice, source: Source) {
    const { ref, info } = device;
    const root = { level: info.tiles.max_level, levelY: info.tiles.max_level_y };
    this.clock = (info.times?.events.length ?? 0) >= 2 ? new Clock(info.times!, info.events) : null;
    this.store = new TileStore(source, `rec/${ref.id}/${ref.dev}`, root, () => {
      for (const listener of this.listeners) listener();
    });
  }

  /** Calls back when a tile has come, until the result is called; with the last listener all requests end. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.store.close();
    };
  }

  /** Makes the clock exact at the edges of the buckets of tiles that are shown. */
  refineClock(tiles: Iterable<CountersTile>): void {
    const points: Points[] = [];
    for (const { time, edge } of tiles) if (time) points.push({ events: edge, us: time });
    this.clock?.refine(points);
  }
}

const known = new WeakMap<OpenDevice, DeviceTiles>();

/** The tiles of a device, the same for each who asks. */
export function deviceTiles(device: OpenDevice, source: Source): DeviceTiles {
  let tiles = known.get(device);
  if (!tiles) {
    tiles = new DeviceTiles(device, source);
    known.set(device, tiles);
  }
  return tiles;
}
