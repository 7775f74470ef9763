import { type ReadonlySignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Painter } from "../../draw/stage.tsx";
import { usePicture } from "../../state/hooks.ts";
import type { DeviceTiles } from "../../tiles/shared.ts";

interface Painting {
  /** The name under which the picture is saved. */
  readonly name: string;
  readonly tiles: DeviceTiles;
  readonly painter: { readonly current: Painter | null };
  /** What the picture shows, and what lies above it. */
  readonly shown: readonly ReadonlySignal[];
  readonly above: readonly ReadonlySignal[];
}

/** Has a picture painted anew when tiles come and when what it shows changes, and offers it to be saved. */
export function usePainting({ name, tiles, painter, shown, above }: Painting): void {
  useEffect(() => tiles.listen(() => painter.current?.repaint()), [tiles, painter]);
  useSignalEffect(() => {
    for (const each of shown) each.value;
    painter.current?.repaint();
  });
  useSignalEffect(() => {
    for (const each of above) each.value;
    painter.current?.retouch();
  });
  usePicture({ name, png: () => painter.current!.png(), svg: () => painter.current!.svg() });
}
