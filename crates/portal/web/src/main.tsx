// Where the portal begins.

import { render } from "preact";
import { watchNetwork } from "./api/connection";
import { resume, watchIdle, watchTabs } from "./api/session";
import { App } from "./app";
import { applyTheme } from "./design/theme";
import { listenForLinks } from "./router";

applyTheme();
listenForLinks();
watchNetwork();
watchIdle();
watchTabs();
void resume();
render(<App />, document.getElementById("app")!);
