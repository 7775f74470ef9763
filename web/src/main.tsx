import "./shell/theme.css";
import "./draw/palette.css";
import "./shell/shell.css";
import "./views/views.css";
import { start } from "./shell/start.tsx";

void start(document.getElementById("app")!);
