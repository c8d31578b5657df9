// Where the portal begins.

import { render } from "preact";
import { watchNetwork } from "./api/connection";
import { resume, watchIdle } from "./api/session";
import { App } from "./app";
import { applyTheme } from "./design/theme";
import { listenForLinks } from "./router";

applyTheme();
listenForLinks();
watchNetwork();
watchIdle();
void resume();
render(<App />, document.getElementById("app")!);
