import "./testkit/browser";
import assert from "node:assert/strict";
import { after, before, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import * as pages from "./pages/paths";
import { currentAddress, isFirstPage, listenForLinks, navigate, setQuery, stepQuery, useAddress } from "./router";
import { ROUTES, routeOf } from "./routes";
import { openAt } from "./testkit/browser";
import { Screen } from "./testkit/screen";

let screen: Screen;
let scrolls = 0;

function Where() {
  const { path, query } = useAddress();
  return (
    <>
      <p>{`${path} ${query}`}</p>
      <a href="/audit?patient=u#top">
        <b>inside</b>
      </a>
      <a href="/audit" target="_blank">
        window
      </a>
      <a href="/audit" download>
        file
      </a>
      <a href="https://elsewhere.example/audit">elsewhere</a>
      <a href="#main">here</a>
      <a href="/docs">docs</a>
      <a href="/integration/v1/groups">api</a>
      <a href="/portal/LICENSES.txt">licences</a>
      <a href="/portality">a page whose name begins like another</a>
    </>
  );
}

before(() => {
  Object.assign(globalThis, { scrollTo: () => (scrolls += 1) });
  openAt("/");
  listenForLinks();
  screen = new Screen(<Where />);
});
after(() => screen.leave());
beforeEach(() => act(() => navigate("/", { replace: true })));

/** Presses a link; whether the router took it. */
async function taken(text: string, how: MouseEventInit = {}): Promise<boolean> {
  const link = screen.all("a").find((one) => one.textContent === text)!;
  const event = new MouseEvent("click", { bubbles: true, cancelable: true, button: 0, ...how });
  // The document has the last word here; a browser would leave the page.
  const stop = (then: Event) => then.defaultPrevented || then.preventDefault();
  let prevented = false;
  const look = (then: Event) => ((prevented = then.defaultPrevented), stop(then));
  addEventListener("click", look);
  await act(() => void (link.firstElementChild ?? link).dispatchEvent(event));
  removeEventListener("click", look);
  return prevented;
}

test("every page has an address that leads to it and nowhere else", () => {
  const addresses: [string, string][] = [
    [pages.studies(), "Studies"],
    [pages.board("ABCDE"), "Ward board"],
    [pages.patients("ABCDE"), "Patients"],
    [pages.patient("ABCDE", "u/1"), "Patient"],
    [pages.record("ABCDE", "u"), "Record"],
    [pages.vouchers("ABCDE"), "Vouchers"],
    [pages.compliance("ABCDE"), "Compliance"],
    [pages.exports("ABCDE"), "Exports"],
    [pages.studySettings("ABCDE"), "Study settings"],
    [pages.bracelets(), "Bracelets"],
    [pages.audit(), "Audit log"],
    [pages.settings(), "Settings"],
  ];
  for (const [address, title] of addresses) assert.equal(routeOf(address)?.route.title, title, address);
  assert.equal(addresses.length, ROUTES.length);
  assert.deepEqual(routeOf(pages.patient("ABCDE", "u/1"))?.params, { code: "ABCDE", uuid: "u/1" });
  for (const address of ["/nowhere", "/studies", "/studies/A/patients/u/record/more"])
    assert.equal(routeOf(address), null);
});

test("a page's address survives codes in any writing", () => {
  for (const code of ["A B", "ä/ö", "100%", "مرضى", "?x=1#y"]) {
    assert.equal(routeOf(pages.patients(code))?.params.code, code, code);
  }
});

test("a link within the portal is a step, with query and place", async () => {
  assert.equal(isFirstPage(), false);
  const before = scrolls;
  assert.equal(await taken("inside"), true, "also from an element within the link");
  assert.equal(screen.all("p")[0]!.textContent, "/audit patient=u");
  assert.equal(location.hash, "#top");
  assert.equal(scrolls, before + 1, "a new page begins at its top");
});

test("a link that leads out, or is asked for in another way, is the browser's", async () => {
  for (const text of ["window", "file", "elsewhere", "here", "docs", "api", "licences"]) {
    assert.equal(await taken(text), false, text);
  }
  for (const how of [{ ctrlKey: true }, { metaKey: true }, { shiftKey: true }, { altKey: true }, { button: 1 }]) {
    assert.equal(await taken("inside", how), false, JSON.stringify(how));
  }
  assert.equal(await taken("a page whose name begins like another"), true);
});

test("a change of the query keeps the page, its place and the steps back", async () => {
  await act(() => navigate("/audit?from=2026-11-01"));
  const [steps, before] = [history.length, scrolls];
  await act(() => setQuery({ action: "USER_LOGIN", from: null }));
  assert.equal(screen.all("p")[0]!.textContent, "/audit action=USER_LOGIN");
  assert.equal(history.length, steps);
  assert.equal(scrolls, before);
});

test("a move within a page is a step to come back from, and keeps its place", async () => {
  await act(() => navigate("/audit?from=2026-11-01"));
  const [steps, before] = [history.length, scrolls];
  await act(() => stepQuery({ from: "2026-11-02" }));
  assert.equal(screen.all("p")[0]!.textContent, "/audit from=2026-11-02");
  assert.equal(history.length, steps + 1);
  assert.equal(scrolls, before);
  await act(() => stepQuery({ from: "2026-11-02" }));
  assert.equal(history.length, steps + 1, "a move to where one is is none");
});

test("moves that follow at once are one step, as of a wheel or a key that is held", async () => {
  mock.timers.enable({ apis: ["Date"], now: Date.now() + 60_000 });
  await act(() => navigate("/audit"));
  const steps = history.length;
  for (let move = 1; move <= 9; move += 1) {
    await act(() => stepQuery({ from: String(move) }, "part"));
    mock.timers.setTime(Date.now() + 100);
  }
  assert.equal(history.length, steps + 1);
  assert.equal(currentAddress().query.get("from"), "9");
  mock.timers.setTime(Date.now() + 2_000);
  await act(() => stepQuery({ from: "10" }, "part"));
  assert.equal(history.length, steps + 2);
  await act(() => void dispatchEvent(new Event("popstate")));
  await act(() => stepQuery({ from: "11" }, "part"));
  assert.equal(history.length, steps + 3, "what was come back to is kept");
  await act(() => stepQuery({ from: "12" }));
  assert.equal(history.length, steps + 4, "a press of a button is a step, however soon it follows");
  mock.timers.reset();
});

test("a step back is followed", async () => {
  await act(() => navigate("/audit"));
  openAt("/bracelets?x=1");
  await act(() => void dispatchEvent(new Event("popstate")));
  assert.equal(screen.all("p")[0]!.textContent, "/bracelets x=1");
  assert.equal(currentAddress().query.get("x"), "1");
});
