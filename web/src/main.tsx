import { render } from "preact";
import { App } from "./app";
import "./style/tokens.css";
import "./style/page.css";
import "./style/messages.css";
import "./style/chart.css";

const place = document.getElementById("app");
if (place) render(<App />, place);
