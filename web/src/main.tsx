import "./shell/theme.css";
import "./draw/palette.css";
import "./shell/controls.css";
import "./shell/shell.css";
import "./shell/header.css";
import "./shell/inspector.css";
import "./shell/notices.css";
import "./shell/dialogs.css";
import "./views/views.css";
import "./paint/chart.css";
import "./views/flame/flame.css";
import "./views/tables/tables.css";
import "./views/findings/findings.css";
import "./views/compare/compare.css";
import "./views/tune/tune.css";
import "./shell/small.css";
import { start } from "./shell/start.tsx";

void start(document.getElementById("app")!);
