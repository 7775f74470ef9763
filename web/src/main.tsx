import { render } from "preact";
import "./main.css";

render(<main>ullage</main>, document.getElementById("app")!);
