// Keeps what was used last, up to a number of bytes.

export class LRU<T> {
  private readonly entries = new Map<string, { value: T; size: number }>();
  private size = 0;

  constructor(private readonly mostBytes: number) {}

  get sizeBytes(): number {
    return this.size;
  }

  /** The value, which is from now on the one used last. */
  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key); // a Map runs in order of insertion
    this.entries.set(key, entry);
    return entry.value;
  }

  has(key: string): boolean {
    return this.entries.has(key);
  }

  /** Adds a value and drops those used longest ago until all fit; the new one stays even if it is too large alone. */
  set(key: string, value: T, sizeBytes: number): void {
    this.delete(key);
    this.entries.set(key, { value, size: sizeBytes });
    this.size += sizeBytes;
    for (const oldest of this.entries.keys()) {
      if (this.size <= this.mostBytes || oldest === key) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.size -= this.entries.get(key)?.size ?? 0;
    this.entries.delete(key);
  }
}
