// The tiles of one device: what is here, what is on its way, and what to draw meanwhile.
//
// A view asks once a frame for the tiles that it needs, the most urgent first. What is not
// here is fetched, a few at a time; what nobody asks for any more is given up. A tile that
// is missing is stood in for by the nearest coarser one that is here, so that a picture is
// never blank once the coarsest tile has come.

import { AnswerError, type Source } from "../source/source.ts";
import { along, isFlat, type Picture, type Place, parent, pathOf } from "./address.ts";
import { LRU } from "./cache.ts";
import { decodeTile, type Tile } from "./decode.ts";

/** Requests on their way at once. Browsers open six connections to a server. */
const IN_FLIGHT = 6;

/** A third of what a page may hold in all. */
const CACHE_BYTES = 32 << 20;

/** How long a tile that could not be fetched rests before it is asked for again. */
const REST_MS = 3000;

const NOT_FOUND = 404;

export interface Root {
  /** Coarsest levels along events and along places. */
  readonly level: number;
  readonly levelY: number;
}

/** What there is of a tile: itself, or a coarser one that covers it. */
export interface Found {
  readonly tile: Tile;
  readonly place: Place;
  readonly exact: boolean;
}

export class TileStore {
  private readonly cache = new LRU<Tile>(CACHE_BYTES);
  private readonly absent = new Set<string>();
  private readonly resting = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly flying = new Map<string, AbortController>();
  private readonly wishes = new Map<string, string[]>();

  /** base is the device's path, "rec/ab12/0". onChange is called when a tile has come, or will not. */
  constructor(
    private readonly source: Source,
    private readonly base: string,
    private readonly root: Root,
    private readonly onChange: () => void,
  ) {}

  /** The tile at place, or the finest coarser one that is here. */
  find(picture: Picture, place: Place): Found | null {
    const root = this.rootOf(picture);
    for (let at: Place | null = place; at; at = parent(at, root)) {
      const tile = this.cache.get(pathOf(picture, at));
      if (tile) return { tile, place: at, exact: at === place };
    }
    return null;
  }

  /** Whether everything that was wished for last has come, or is known not to be there. */
  get settled(): boolean {
    return this.flying.size === 0 && this.next() === undefined;
  }

  /**
   * Sets what one asker needs, in place of what it asked for before: the places that it
   * shows, then those that it may show next. The coarsest tile comes before all.
   */
  want(asker: string, picture: Picture, shown: readonly Place[], soon: readonly Place[]): void {
    const root = this.rootOf(picture);
    const rootPlace = { ...along(root.level, 0), levelY: root.levelY };
    const parents = shown.map((place) => parent(place, root)).filter((place) => place !== null);
    const paths = [rootPlace, ...shown, ...parents, ...soon].map((place) => pathOf(picture, place));
    this.wishes.set(asker, [...new Set(paths)]);
    this.dropUnwanted();
    this.pump();
  }

  /** Forgets an asker, and everything with the last of them. */
  leave(asker: string): void {
    this.wishes.delete(asker);
    this.dropUnwanted();
  }

  /** Ends all requests. */
  close(): void {
    this.wishes.clear();
    this.dropUnwanted();
    for (const timer of this.resting.values()) clearTimeout(timer);
    this.resting.clear();
  }

  private rootOf(picture: Picture): Root {
    return isFlat(picture) ? this.root : { level: this.root.level, levelY: 0 };
  }

  private dropUnwanted(): void {
    const wanted = new Set([...this.wishes.values()].flat());
    for (const [path, controller] of this.flying) {
      if (wanted.has(path)) continue;
      this.flying.delete(path);
      controller.abort();
    }
  }

  /** The next path to fetch: the askers take turns, so that none waits for all of another's. */
  private next(): string | undefined {
    const lists = [...this.wishes.values()];
    const longest = Math.max(0, ...lists.map((list) => list.length));
    for (let i = 0; i < longest; i++) {
      for (const list of lists) {
        const path = list[i];
        if (path && this.missing(path)) return path;
      }
    }
    return undefined;
  }

  private missing(path: string): boolean {
    return (
      !this.cache.has(path) && !this.flying.has(path) && !this.absent.has(path) && !this.resting.has(path)
    );
  }

  private pump(): void {
    while (this.flying.size < IN_FLIGHT) {
      const path = this.next();
      if (!path) return;
      void this.fetch(path);
    }
  }

  private async fetch(path: string): Promise<void> {
    const controller = new AbortController();
    this.flying.set(path, controller);
    try {
      const bytes = await this.source.tile(`${this.base}/tile/${path}`, controller.signal);
      this.cache.set(path, decodeTile(bytes), bytes.byteLength);
    } catch (error) {
      if (controller.signal.aborted) return; // dropUnwanted has taken it off the list
      this.giveUp(path, error);
    }
    this.flying.delete(path);
    this.pump();
    this.onChange();
  }

  /** Notes that there is no such tile, or that it shall be asked for again after a rest. */
  private giveUp(path: string, error: unknown): void {
    if (error instanceof AnswerError && error.status === NOT_FOUND) {
      this.absent.add(path);
      return;
    }
    const again = () => {
      this.resting.delete(path);
      this.pump();
    };
    this.resting.set(path, setTimeout(again, REST_MS));
  }
}
