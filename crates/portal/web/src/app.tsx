// The portal as a whole: nobody signed in sees the sign-in page, whatever the address; a password that must be changed
// comes before everything else; then the page of the address within its frame.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { connectionLost, useConnection } from "./api/connection";
import { useSession } from "./api/session";
import { Problem } from "./design/problem";
import { Skeleton } from "./design/skeleton";
import { Toasts } from "./design/toast";
import type { PageProps } from "./page_props";
import { NotFound } from "./pages/not_found";
import { NewPassword } from "./pages/sign_in/new_password";
import { SignIn } from "./pages/sign_in/page";
import { useAddress } from "./router";
import { ROUTES, type Route, routeOf } from "./routes";
import { Shell } from "./shell";

export function App() {
  const now = useSession();
  const who = now.is === "in" ? now.session.account.uuid : null;
  // The key: nothing that one person has on the screen stays for the next.
  return (
    <>
      <Inside now={now} key={who} />
      <Toasts />
    </>
  );
}

function Inside({ now }: { now: ReturnType<typeof useSession> }) {
  const { path } = useAddress();
  if (now.is === "unknown") return <Starting problem={now.problem} />;
  if (now.is === "out") return <SignIn because={now.because} />;
  if (now.session.must_change_password) return <NewPassword />;
  const found = routeOf(path);
  if (!found) {
    return (
      <Shell title="Not found" params={{}}>
        <NotFound />
      </Shell>
    );
  }
  return (
    <Shell title={found.route.title} params={found.params} wide={found.route.wide}>
      <LoadedPage route={found.route} params={found.params} />
    </Shell>
  );
}

/** Nothing is known yet; only after a moment does it say so, so that a quick answer does not flicker. */
function Starting({ problem }: { problem?: string }) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setSlow(true), 800);
    return () => clearTimeout(timer);
  }, []);
  return slow ? (
    <div class="gate">
      <p role="status" class="soft">
        {problem ? `${problem} Asking again by itself…` : "Waiting for the server…"}
      </p>
    </div>
  ) : null;
}

const loaded = new Map<Route, ComponentType<PageProps>>();

async function load(route: Route): Promise<void> {
  if (!loaded.has(route)) loaded.set(route, (await route.load()).default);
}

/** Fetches the other pages once the first is shown, so that a step to them is instant, also while the server is away. */
async function loadOthers(): Promise<void> {
  await new Promise((resume) => window.setTimeout(resume, 3_000));
  for (const route of ROUTES) await load(route).catch(() => {});
}

function LoadedPage({ route, params }: { route: Route } & PageProps) {
  const [, setTurn] = useState(0);
  const [failed, setFailed] = useState<Route | null>(null);
  const { lostSince, epoch } = useConnection();

  useEffect(() => {
    const first = loaded.size === 0;
    load(route).then(
      () => {
        setTurn((turn) => turn + 1);
        if (first) void loadOthers();
      },
      () => {
        // The first time it may be the connection; when that answers again, `epoch` lets this run once more.
        if (failed !== route) connectionLost();
        setFailed(route);
      },
    );
  }, [route, epoch]);

  const Page = loaded.get(route);
  if (Page) return <Page params={params} key={route.pattern + JSON.stringify(params)} />;
  if (failed !== route || lostSince !== null) return <Skeleton lines={6} />;
  return (
    <Problem
      error={new Error("this page could not be loaded; the portal may have been updated meanwhile")}
      onRetry={() => location.reload()}
    />
  );
}
