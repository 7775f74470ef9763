// Which part draws which view.

import type { FunctionComponent } from "preact";
import type { ViewName } from "../state/viewer.ts";
import { CompareView } from "../views/compare/compare.tsx";
import { FindingsView } from "../views/findings/findings.tsx";
import { FlameView } from "../views/flame/flame.tsx";
import { MapView } from "../views/map/map.tsx";
import { MomentView } from "../views/moment/moment.tsx";
import { TablesView } from "../views/tables/tables.tsx";
import { Timeline } from "../views/timeline/timeline.tsx";
import { TuneView } from "../views/tune/tune.tsx";

const parts: Record<ViewName, FunctionComponent> = {
  timeline: Timeline,
  map: MapView,
  moment: MomentView,
  flame: FlameView,
  tables: TablesView,
  findings: FindingsView,
  compare: CompareView,
  tune: TuneView,
};

export function View({ view }: { view: ViewName }) {
  const Part = parts[view];
  return <Part />;
}
