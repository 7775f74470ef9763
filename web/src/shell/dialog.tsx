// A dialog of the browser's own: it keeps the focus inside, gives it back, and closes with Escape.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useApp } from "../state/hooks.ts";

interface DialogProps {
  label: string;
  className: string;
  children: ComponentChildren;
}

export function Dialog({ label, className, children }: DialogProps) {
  const app = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []); // before the next key, which is meant for it
  const close = () => {
    app.dialog.value = null;
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it; a click beside it is a second way
    <dialog
      ref={dialog}
      class={`dialog ${className}`}
      aria-label={label}
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      {children}
    </dialog>
  );
}
