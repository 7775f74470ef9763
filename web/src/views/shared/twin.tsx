// The switch between a picture and the list that says the same.

import { Pick } from "../../shell/ui.tsx";
import { useApp } from "../../state/hooks.ts";

/** Each picture has a list that says the same. */
export function TwinPick() {
  const app = useApp();
  return (
    <Pick
      label="Shown as"
      value={app.twin.value ? "list" : "picture"}
      options={[
        ["picture", "picture"],
        ["list", "list"],
      ]}
      onPick={(value) => {
        app.twin.value = value === "list";
      }}
    />
  );
}
