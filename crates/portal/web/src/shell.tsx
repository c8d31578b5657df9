// The frame around every page: where one is, where one can go, who one is, and whether the server still answers.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Unreachable } from "./api/client";
import { useConnection } from "./api/connection";
import { explain } from "./api/explain";
import { signOut, useOwnSession } from "./api/session";
import { Icon } from "./design/icon";
import { ThemeSwitch } from "./design/theme_switch";
import { clock } from "./format";
import * as pages from "./pages/paths";
import { mayManage } from "./pages/rights";
import { type Params, useAddress } from "./router";
import { useStudy } from "./studies";

interface ShellProps {
  title: string;
  params: Params;
  wide?: boolean;
  children: ComponentChildren;
}

export function Shell({ title, params, wide, children }: ShellProps) {
  const { path } = useAddress();
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);

  // After a step to another page a screen reader begins at its top, as it would with a page that the browser loads.
  useEffect(() => {
    document.title = `${title} · Pulseward`;
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [path]);

  return (
    <div class="shell">
      {/* biome-ignore lint/a11y/useValidAnchor: a link, as people know it, that leaves the address as it is */}
      <a class="skip" href="#main" onClick={(event) => skipTo(event, main.current)}>
        Skip to content
      </a>
      <header class="top">
        <div class="top-bar">
          <Brand />
          {params.code ? <Crumbs code={params.code} uuid={params.uuid} /> : <span class="crumbs" />}
          <TopLinks path={path} />
        </div>
        {params.code && <StudyTabs code={params.code} path={path} />}
      </header>
      <LostBanner />
      <main id="main" ref={main} tabIndex={-1} class={wide ? "page" : "page contained"}>
        {children}
      </main>
      <footer class="foot">
        <span>Times are local, on a 24-hour clock.</span>
        <span>Scores and detections help to look; they are not a diagnosis.</span>
        <a href="/docs">API documentation</a>
        <a href="/portal/LICENSES.txt" target="_blank" rel="noopener">
          Licences
        </a>
      </footer>
    </div>
  );
}

/** Moves the focus and not the address, which the router would take for another page. */
function skipTo(event: Event, place: HTMLElement | null): void {
  event.preventDefault();
  place?.focus();
}

export function Brand() {
  return (
    <a class="brand" href="/" aria-label="Pulseward, all studies">
      <Icon name="pulse" size={22} />
      <span class="word">Pulseward</span>
    </a>
  );
}

function Crumbs({ code, uuid }: { code: string; uuid?: string }) {
  const study = useStudy(code);
  return (
    <nav class="crumbs" aria-label="Where you are">
      <ol>
        <li>
          <a href={pages.board(code)} aria-current={uuid ? undefined : "true"}>
            {study?.name ?? code}
          </a>
        </li>
        {uuid && (
          <li>
            <a href={pages.patients(code)}>Patients</a>
          </li>
        )}
      </ol>
    </nav>
  );
}

function TopLinks({ path }: { path: string }) {
  const { account, wall_display } = useOwnSession();
  const current = (href: string) => (path === href ? "page" : undefined);
  return (
    <div class="top-links">
      {!wall_display && (
        <nav aria-label="Portal" class="top-links">
          <a href={pages.studies()} aria-current={current(pages.studies())}>
            Studies
          </a>
          <a href={pages.bracelets()} aria-current={current(pages.bracelets())}>
            Bracelets
          </a>
          <a href={pages.audit()} aria-current={current(pages.audit())}>
            Audit log
          </a>
        </nav>
      )}
      <AccountMenu email={account.email} role={account.role} path={path} />
    </div>
  );
}

const ROLES = { researcher: "Researcher", hcp: "Practitioner", admin: "Administrator" };

function AccountMenu({ email, role, path }: { email: string; role: keyof typeof ROLES; path: string }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => menu.current?.removeAttribute("open");
  useEffect(close, [path]);
  useEffect(() => {
    // A <details> stays open until it is pressed again, which nobody expects of a menu.
    const outside = (event: Event) => !menu.current?.contains(event.target as Node) && close();
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    close();
    menu.current?.querySelector("summary")?.focus();
  };
  return (
    <details class="menu" ref={menu} onKeyDown={onKeyDown}>
      <summary class="button quiet" aria-label={`Account ${email}`}>
        <Icon name="person" />
        <Icon name="down" size={12} />
      </summary>
      <div class="menu-body">
        <p class="who">
          {email}
          <br />
          <span class="small soft">{ROLES[role] ?? role}</span>
        </p>
        <ThemeSwitch />
        <a href={pages.settings()}>Settings and API keys</a>
        <SignOut />
      </div>
    </details>
  );
}

/** Signing out, and a word when the server has not heard it: then one is still signed in. */
function SignOut() {
  const [failed, setFailed] = useState("");
  const leave = () => {
    setFailed("");
    signOut().catch((error) =>
      setFailed(`Could not sign out: ${error instanceof Unreachable ? "no connection; try again." : explain(error)}`),
    );
  };
  return (
    <>
      <button type="button" onClick={leave}>
        Sign out
      </button>
      <p class="bad-text small" role="alert">
        {failed}
      </p>
    </>
  );
}

function StudyTabs({ code, path }: { code: string; path: string }) {
  const { account, wall_display } = useOwnSession();
  const nav = useRef<HTMLElement>(null);
  // On a phone the tabs are wider than the screen.
  useEffect(
    () => nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    [path],
  );
  const look = [
    { href: pages.board(code), title: "Board" },
    { href: pages.patients(code), title: "Patients" },
    { href: pages.compliance(code), title: "Compliance" },
  ];
  const manage = [
    { href: pages.vouchers(code), title: "Vouchers" },
    { href: pages.exports(code), title: "Exports" },
  ];
  const work = [
    ...(mayManage(account.role) ? manage : []),
    { href: pages.studySettings(code), title: "Study settings" },
  ];
  const isHere = (href: string) => path === href || (href !== pages.board(code) && path.startsWith(`${href}/`));
  return (
    <nav class="tabs" aria-label="Study" ref={nav}>
      {(wall_display ? look : [...look, ...work]).map(({ href, title }) => (
        <a key={href} href={href} aria-current={isHere(href) ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}

function LostBanner() {
  const { lostSince } = useConnection();
  return (
    <div role="alert">
      {lostSince !== null && (
        <p class="lost">
          <Icon name="alert" />
          <span>
            <strong>Connection lost.</strong> What you see is from {clock(lostSince)} or before. Trying again…
          </span>
        </p>
      )}
    </div>
  );
}
