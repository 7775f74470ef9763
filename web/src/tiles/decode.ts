// Reads tiles: docs/formats/tile.md. Columns are views of the bytes that came, nothing is copied.

/** What every tile says of itself. */
export interface Header {
  /** x is microseconds, not events. */
  readonly ofTime: boolean;
  /** More than a tile may hold, so there is nothing in it (packed). */
  readonly tooMany: boolean;
  readonly levelX: number;
  readonly fromX: number;
  readonly nx: number;
  readonly levelY: number;
  readonly fromY: number;
  readonly ny: number;
  readonly count: number;
  readonly points: number;
  readonly cellsX: number;
  readonly cellsY: number;
}

/** One amount over the buckets, in bytes. */
export interface Series {
  readonly min: Float64Array;
  readonly max: Float64Array;
  readonly last: Float64Array;
}

export interface CountersTile extends Header {
  readonly kind: "counters";
  /** Microseconds at the edges of the buckets; null where the recording has no times. */
  readonly time: Float64Array | null;
  readonly allocated: Series;
  readonly reserved: Series;
  readonly active: Series;
  readonly requested: Series;
  /** The events of bucket j are edge[j] up to, not with, edge[j+1]. */
  readonly edge: Uint32Array;
}

export interface BandsTile extends Header {
  readonly kind: "bands";
  /** Bytes of row r in bucket j at event at[j]: peak[r * nx + j]. */
  readonly peak: Float64Array;
  readonly mean: Float32Array;
  readonly edge: Uint32Array;
  readonly at: Uint32Array;
  readonly group: Uint32Array;
}

export interface RectsTile extends Header {
  readonly kind: "blocks" | "segments";
  readonly id: Uint32Array;
  readonly group: Uint32Array;
  readonly start: Uint32Array;
  readonly freed: Uint32Array;
  readonly end: Uint32Array;
  readonly place: Uint32Array;
  readonly size: Uint32Array;
  /** Share of each cell in 255ths: density[row * cellsX + column]. */
  readonly density: Uint8Array;
}

export interface PackedTile extends Header {
  readonly kind: "packed";
  readonly size: Float64Array;
  readonly offset: Float64Array;
  readonly id: Uint32Array;
  readonly group: Uint32Array;
  readonly start: Uint32Array;
  readonly end: Uint32Array;
  readonly first: Uint32Array;
  readonly event: Uint32Array;
}

export type Tile = CountersTile | BandsTile | RectsTile | PackedTile;

/** The number that stands for "everything else" among groups, for "never" among events. */
export const NONE = 0xffffffff;

const MAGIC = 0x544c4c55; // "ULLT", little-endian
const VERSION = 1;
const HEADER_BYTES = 64;
const FLAG_TIME_AXIS = 1;
const FLAG_TIMES = 2;
const FLAG_TOO_MANY = 4;

/** Hands out the columns that follow the header, and checks that they end where the tile does. */
class Columns {
  private at = HEADER_BYTES;

  constructor(private readonly bytes: ArrayBuffer) {}

  f64(length: number): Float64Array {
    return new Float64Array(this.bytes, this.take(length * 8), length);
  }

  f32(length: number): Float32Array {
    return new Float32Array(this.bytes, this.take(length * 4), length);
  }

  u32(length: number): Uint32Array {
    return new Uint32Array(this.bytes, this.take(length * 4), length);
  }

  u8(length: number): Uint8Array {
    return new Uint8Array(this.bytes, this.take(length), length);
  }

  end(): void {
    if (this.at !== this.bytes.byteLength) {
      throw new Error(`tile: ${this.bytes.byteLength} bytes, want ${this.at}`);
    }
  }

  private take(size: number): number {
    const from = this.at;
    this.at += size;
    if (this.at > this.bytes.byteLength) {
      throw new Error(`tile: ends after ${this.bytes.byteLength} bytes, want ${this.at} or more`);
    }
    return from;
  }
}

/** Reads a tile. An error says what is wrong with bytes that are none. */
export function decodeTile(bytes: ArrayBuffer): Tile {
  if (bytes.byteLength < HEADER_BYTES)
    throw new Error(`tile: ${bytes.byteLength} bytes, want a header of 64`);
  const view = new DataView(bytes);
  const version = view.getUint16(4, true);
  if (view.getUint32(0, true) !== MAGIC) throw new Error("tile: does not begin with ULLT");
  if (version !== VERSION) throw new Error(`tile: version ${version}, want ${VERSION}`);
  const flags = view.getUint32(8, true);
  const header = readHeader(view, flags);
  const columns = new Columns(bytes);
  const tile = readBody(view.getUint16(6, true), header, columns, (flags & FLAG_TIMES) !== 0);
  columns.end();
  return tile;
}

function readHeader(view: DataView, flags: number): Header {
  return {
    ofTime: (flags & FLAG_TIME_AXIS) !== 0,
    tooMany: (flags & FLAG_TOO_MANY) !== 0,
    levelX: view.getInt32(12, true),
    fromX: view.getFloat64(16, true),
    nx: view.getUint32(24, true),
    levelY: view.getInt32(28, true),
    fromY: view.getFloat64(32, true),
    ny: view.getUint32(40, true),
    count: view.getUint32(44, true),
    points: view.getUint32(48, true),
    cellsX: view.getUint32(56, true),
    cellsY: view.getUint32(60, true),
  };
}

function readBody(kind: number, header: Header, columns: Columns, times: boolean): Tile {
  switch (kind) {
    case 1:
      return counters(header, columns, times);
    case 2:
      return bands(header, columns);
    case 3:
      return rects("blocks", header, columns);
    case 4:
      return rects("segments", header, columns);
    case 5:
      return packed(header, columns);
    default:
      throw new Error(`tile: kind ${kind}, want 1 to 5`);
  }
}

// The fields of each literal below stand in the order of the columns, in which they are read.

function counters(header: Header, columns: Columns, times: boolean): CountersTile {
  const { nx } = header;
  const series = (): Series => ({ min: columns.f64(nx), max: columns.f64(nx), last: columns.f64(nx) });
  return {
    ...header,
    kind: "counters",
    time: times ? columns.f64(nx + 1) : null,
    allocated: series(),
    reserved: series(),
    active: series(),
    requested: series(),
    edge: columns.u32(nx + 1),
  };
}

function bands(header: Header, columns: Columns): BandsTile {
  const { nx, count } = header;
  return {
    ...header,
    kind: "bands",
    peak: columns.f64(count * nx),
    mean: columns.f32(count * nx),
    edge: columns.u32(nx + 1),
    at: columns.u32(nx),
    group: columns.u32(count),
  };
}

function rects(kind: "blocks" | "segments", header: Header, columns: Columns): RectsTile {
  const { count } = header;
  return {
    ...header,
    kind,
    id: columns.u32(count),
    group: columns.u32(count),
    start: columns.u32(count),
    freed: columns.u32(count),
    end: columns.u32(count),
    place: columns.u32(count),
    size: columns.u32(count),
    density: columns.u8(header.cellsX * header.cellsY),
  };
}

function packed(header: Header, columns: Columns): PackedTile {
  const { count, points } = header;
  return {
    ...header,
    kind: "packed",
    size: columns.f64(count),
    offset: columns.f64(points),
    id: columns.u32(count),
    group: columns.u32(count),
    start: columns.u32(count),
    end: columns.u32(count),
    first: columns.u32(count + 1),
    event: columns.u32(points),
  };
}
