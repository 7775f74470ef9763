import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useAnswer, useApp } from "../../state/hooks.ts";
import type { BlockDetail } from "../../state/types.ts";

/** What is known of the selected block; null while it is asked for, and where none is selected. */
export function useSelectedBlock(): ReadonlySignal<BlockDetail | null> {
  const app = useApp();
  const selection = app.selection.value;
  const path = selection?.kind === "block" ? app.path(`block/${selection.block}`) : null;
  const { value, loading } = useAnswer<BlockDetail>(path);
  const detail = useSignal<BlockDetail | null>(null);
  const now = path !== null && !loading ? value : null;
  useEffect(() => {
    detail.value = now;
  }, [detail, now]);
  return detail;
}
