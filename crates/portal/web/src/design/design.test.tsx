import "../testkit/browser";
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { act } from "preact/test-utils";
import { withoutStorage } from "../testkit/browser";
import { Screen, textOf } from "../testkit/screen";
import { Button, ButtonLink } from "./button";
import { CopyButton, CurlButton } from "./copy_button";
import { Confirm, Dialog } from "./dialog";
import { CheckGroup, ClockField, SelectField, TextArea, TextField } from "./field";
import { Problem } from "./problem";
import { QrCode } from "./qr_code";
import { type Tab, Tabs } from "./tabs";
import { applyTheme, chooseTheme, storedTheme, useDark } from "./theme";
import { ThemeSwitch } from "./theme_switch";
import { Ago, At, useNow } from "./time";
import { Toasts, toast } from "./toast";
import { TypedConfirm } from "./typed_confirm";

let screen: Screen;
let clipboard: string[] = [];
let denied = false;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.parse("2026-11-22T12:00:00Z") });
  [clipboard, denied] = [[], false];
  Object.defineProperty(navigator, "clipboard", {
    value: {
      writeText: async (text: string) => (denied ? Promise.reject(new Error("no")) : void clipboard.push(text)),
    },
    configurable: true,
  });
  screen = new Screen(null);
});
afterEach(() => {
  screen.leave();
  mock.timers.reset();
});

test("a button at work cannot be pressed and says so", async () => {
  let pressed = 0;
  screen.draw(<Button onClick={() => (pressed += 1)}>Save</Button>);
  await screen.press("Save");
  screen.draw(
    <Button busy onClick={() => (pressed += 1)}>
      Save
    </Button>,
  );
  const button = screen.button("Save");
  assert.deepEqual([button.disabled, button.getAttribute("aria-busy")], [true, "true"]);
  await screen.press("Save");
  assert.equal(pressed, 1);
});

test("a button sends no form unless it is of that type", () => {
  screen.draw([
    <Button key="1">One</Button>,
    <Button key="2" type="submit">
      Two
    </Button>,
  ]);
  assert.deepEqual(
    screen.all<HTMLButtonElement>("button").map(({ type }) => type),
    ["button", "submit"],
  );
});

test("a button that is only a picture has a name", () => {
  screen.draw(<Button icon="close" label="Close" />);
  assert.equal(screen.button("Close").className.includes("square"), true);
  screen.draw(
    <ButtonLink href="/a" icon="plus">
      Go
    </ButtonLink>,
  );
  assert.equal(screen.one("a").getAttribute("href"), "/a");
  assert.equal(screen.one("a").className.includes("square"), false);
});

test("a field's hint gives way to what is wrong, and both are tied to it", () => {
  screen.draw(<TextField label="Height" value="1" onValue={() => {}} hint="in cm" />);
  const note = () => document.getElementById(screen.field("Height").getAttribute("aria-describedby")!);
  assert.equal(textOf(note()!), "in cm");
  assert.equal(screen.field("Height").hasAttribute("aria-invalid"), false);
  screen.draw(<TextField label="Height" value="1" onValue={() => {}} hint="in cm" error="too small" />);
  assert.equal(textOf(note()!), "too small");
  assert.equal(screen.field("Height").getAttribute("aria-invalid"), "true");
  assert.equal(screen.text.includes("in cm"), false);
  screen.draw(<TextField label="Height" value="1" onValue={() => {}} />);
  assert.equal(screen.field("Height").hasAttribute("aria-describedby"), false);
});

test("two fields with one label are two fields", () => {
  screen.draw([
    <TextField key="a" label="Name" value="a" onValue={() => {}} />,
    <TextField key="b" label="Name" value="b" onValue={() => {}} />,
  ]);
  const ids = screen.all("input").map(({ id }) => id);
  assert.notEqual(ids[0], ids[1]);
});

test("what is typed and chosen is passed on", async () => {
  const reported: string[] = [];
  screen.draw([
    <TextField key="1" label="Name" value="" onValue={(value) => reported.push(value)} />,
    <TextArea key="2" label="Words" value="" onValue={(value) => reported.push(value)} />,
    <SelectField
      key="3"
      label="One"
      value="a"
      choices={[
        { value: "a", text: "A" },
        { value: "b", text: "B" },
      ]}
      onValue={(value) => reported.push(value)}
    />,
  ]);
  await screen.type("Name", "אבי");
  await screen.type("Words", "two\nlines");
  await screen.choose("One", "b");
  assert.deepEqual(reported, ["אבי", "two\nlines", "b"]);
});

test("a time of day is on 24 hours", () => {
  screen.draw(<ClockField label="From" value="" onValue={() => {}} />);
  const pattern = new RegExp(`^(?:${screen.field("From").getAttribute("pattern")})$`, "v");
  for (const right of ["00:00", "9:30", "09:30", "23:59"]) assert.match(right, pattern);
  for (const wrong of ["24:00", "12:60", "1230", "", "9:3", "-1:00"]) assert.doesNotMatch(wrong, pattern);
});

test("several boxes keep the order of the choices, whatever the order of the clicks", async () => {
  let chosen: string[] = ["gone"];
  const choices = ["a", "b", "c"].map((value) => ({ value, text: value.toUpperCase() }));
  const draw = () =>
    screen.draw(
      <CheckGroup label="Types" choices={choices} chosen={chosen} onChosen={(now) => ((chosen = now), draw())} />,
    );
  draw();
  await screen.choose("C", true);
  await screen.choose("A", true);
  assert.deepEqual(chosen, ["a", "c"], "what is no choice any more is not kept");
  await screen.choose("C", false);
  assert.deepEqual(chosen, ["a"]);
});

const Asking = (props: { mustAnswer?: boolean; onClose: () => void; onSubmit?: () => void }) => (
  <Dialog title="Sure?" foot={<Button type="submit">Yes</Button>} {...props}>
    <input autofocus aria-label="inside" />
  </Dialog>
);

test("a dialog takes the focus, closes by its cross and by Escape, and gives the focus back", async () => {
  let closed = 0;
  screen.draw(<button type="button">before</button>);
  screen.button("before").focus();
  const draw = (is_open: boolean) =>
    screen.draw([
      <button key="b" type="button">
        before
      </button>,
      is_open && <Asking key="d" onClose={() => (closed += 1)} />,
    ]);
  draw(true);
  assert.equal(document.activeElement?.getAttribute("aria-label"), "inside");
  assert.equal(screen.one<HTMLDialogElement>("dialog").open, true);
  await screen.press("Close");
  const cancel = new Event("cancel", { cancelable: true });
  await act(() => void screen.one("dialog").dispatchEvent(cancel));
  assert.equal(closed, 2);
  assert.equal(cancel.defaultPrevented, true, "the page closes it, not the browser");
});

test("a dialog that shows something once is left by its own button only", async () => {
  let closed = 0;
  screen.draw(<Asking mustAnswer onClose={() => (closed += 1)} />);
  assert.equal(screen.all("[aria-label=Close]").length, 0);
  await act(() => void screen.one("dialog").dispatchEvent(new Event("cancel", { cancelable: true })));
  const key = await screen.key("Escape", screen.one("input"));
  assert.deepEqual([closed, key.defaultPrevented], [0, true]);
  assert.equal((await screen.key("a", screen.one("input"))).defaultPrevented, false);
});

test("Enter in a dialog with an answer gives it, and the page stays as it is", async () => {
  let answered = 0;
  screen.draw(<Asking onClose={() => {}} onSubmit={() => (answered += 1)} />);
  const event = new Event("submit", { bubbles: true, cancelable: true });
  await act(() => void screen.one("form").dispatchEvent(event));
  assert.deepEqual([answered, event.defaultPrevented], [1, true]);
});

test("a question says what went wrong and stays", async () => {
  const answers: string[] = [];
  screen.draw(
    <Confirm
      title="Remove?"
      yes="Remove"
      danger
      failed="Somebody wears it."
      onYes={() => answers.push("yes")}
      onClose={() => answers.push("no")}
    >
      It leaves the list.
    </Confirm>,
  );
  assert.equal(textOf(screen.one("[role=alert]")), "Somebody wears it.");
  await screen.submit();
  await screen.press("Cancel");
  assert.deepEqual(answers, ["yes", "no"]);
});

test("what cannot be taken back asks for its word, to the letter", async () => {
  let done = 0;
  screen.draw(
    <TypedConfirm
      title="Erase?"
      yes="Erase"
      word="Ada B"
      wordIs="the name"
      onYes={() => (done += 1)}
      onClose={() => {}}
    >
      Gone for good.
    </TypedConfirm>,
  );
  for (const typed of ["", "ada b", "Ada", "Ada  B"]) {
    await screen.type("Type Ada B", typed);
    assert.equal(screen.button("Erase").disabled, true, typed);
    await screen.submit();
  }
  assert.equal(done, 0, "nor by Enter");
  await screen.type("Type Ada B", " Ada B ");
  await screen.submit();
  assert.equal(done, 1);
});

const TABS: Tab[] = ["one", "two", "three"].map((key) => ({ key, title: key, content: () => <p>{`of ${key}`}</p> }));

test("tabs are moved by arrows, around both ends, and only the chosen one is a stop", async () => {
  let chosen = "one";
  const draw = () =>
    screen.draw(<Tabs label="Parts" tabs={TABS} chosen={chosen} onChoose={(key) => ((chosen = key), draw())} />);
  draw();
  const tab = () => screen.one("[aria-selected=true]");
  await screen.key("ArrowLeft", tab());
  assert.equal(chosen, "three");
  assert.ok(document.activeElement === tab());
  await screen.key("ArrowRight", tab());
  assert.equal(chosen, "one");
  assert.equal((await screen.key("ArrowDown", tab())).defaultPrevented, false);
  assert.deepEqual(
    screen.all<HTMLButtonElement>("[role=tab]").map(({ tabIndex }) => tabIndex),
    [0, -1, -1],
  );
  await screen.press("two");
  assert.equal(textOf(screen.one("[role=tabpanel]")), "of two");
  assert.equal(screen.one("[role=tabpanel]").getAttribute("aria-labelledby"), tab().id);
});

test("a tab that an address names and that is not there shows the first", () => {
  screen.draw(<Tabs label="Parts" tabs={TABS} chosen="four" onChoose={() => {}} />);
  assert.equal(textOf(screen.one("[role=tabpanel]")), "of one");
});

test("a text is copied and said to be, or offered where the browser keeps the clipboard", async () => {
  screen.draw([<CopyButton key="c" text="secret" what="API key" />, <Toasts key="t" />]);
  await screen.press("Copy API key");
  assert.deepEqual(clipboard, ["secret"]);
  assert.match(screen.text, /API key copied/);
  denied = true;
  await screen.press("Copy API key");
  assert.equal(screen.one<HTMLTextAreaElement>("dialog textarea").value, "secret");
});

test("the curl command names this server and never a key", async () => {
  screen.draw(<CurlButton path="/integration/v1/groups" />);
  await screen.press("curl");
  assert.deepEqual(clipboard, [
    `curl -sS -H "X-Api-Key: $PULSEWARD_API_KEY" 'http://portal.example/integration/v1/groups'`,
  ]);
});

test("a toast goes by itself, and no more than three are there", async () => {
  screen.draw(<Toasts />);
  mock.timers.tick(60_000);
  for (const text of ["one", "two", "three", "four"]) await act(() => toast(text));
  assert.equal(screen.text, "twothreefour");
  mock.timers.tick(4_000);
  await act(() => toast("five"));
  await act(() => mock.timers.tick(1_000));
  assert.equal(screen.text, "five", "each goes after its own time");
  await act(() => mock.timers.tick(4_000));
  assert.equal(screen.text, "");
});

test("an age grows while one looks at it", async () => {
  const now = Date.now();
  screen.draw([
    <Ago key="a" time={now - 59_000} />,
    <Ago key="b" time={null} none="never" />,
    <Ago key="c" time={now + 90_000} />,
  ]);
  assert.equal(screen.text, "nownevernow", "a server whose clock is ahead is no future");
  await act(() => mock.timers.tick(30_000));
  assert.match(screen.text, /^1 min ago/);
});

test("a time says its day, its second, or that there is none", () => {
  const time = "2026-11-22T12:34:56Z";
  screen.draw([
    <At key="1" time={time} />,
    <br key="-" />,
    <At key="2" time={time} dayOnly />,
    <br key="=" />,
    <At key="3" time={time} seconds />,
    <At key="4" time={undefined} />,
  ]);
  assert.equal(screen.text, "22 Nov 2026, 13:3422 Nov 202622 Nov 2026, 13:34:56–");
  assert.equal(screen.all("time")[0]!.getAttribute("datetime"), "2026-11-22T12:34:56.000Z");
});

test("a clock that nobody needs any more stops", async () => {
  let drawn = 0;
  const Clock = () => ((drawn += 1), (<p>{useNow(10)}</p>));
  screen.draw(<Clock />);
  await act(() => mock.timers.tick(10_000));
  assert.equal(drawn, 2);
  screen.draw(null);
  await act(() => mock.timers.tick(60_000));
  assert.equal(drawn, 2);
});

test("a theme is kept, and a browser without storage shows it all the same", async () => {
  const Dark = () => <p>{useDark() ? "dark" : "light"}</p>;
  screen.draw([<ThemeSwitch key="s" />, <Dark key="d" />]);
  await screen.press("Dark");
  assert.equal(document.documentElement.dataset.theme, "dark");
  assert.equal(storedTheme(), "dark");
  assert.equal(screen.button("Dark").getAttribute("aria-pressed"), "true");
  assert.match(screen.text, /dark$/);
  localStorage.setItem("pulseward-theme", "purple");
  assert.equal(storedTheme(), "system");
  applyTheme();
  assert.equal(document.documentElement.dataset.theme, undefined);
  await withoutStorage("localStorage", async () => {
    await act(() => chooseTheme("light"));
    assert.equal(storedTheme(), "system");
    assert.equal(document.documentElement.dataset.theme, "light");
  });
});

test("a problem says what and offers a try only where there is one", async () => {
  let tries = 0;
  screen.draw(<Problem error={new Error("the disk is full")} onRetry={() => (tries += 1)} />);
  assert.match(textOf(screen.one("[role=alert]")), /^The disk is full\./);
  await screen.press("Try again");
  assert.equal(tries, 1);
  screen.draw(<Problem error={new Error("x")} />);
  assert.equal(screen.all("button").length, 0);
});

test("a QR code has a quiet border, and another text is another picture", () => {
  screen.draw(<QrCode text="ABCD2345" label="voucher" />);
  const [left, top, width] = screen.one("svg").getAttribute("viewBox")!.split(" ").map(Number);
  assert.deepEqual([left, top], [-4, -4]);
  assert.ok(width! >= 21 + 8, "the smallest code has 21 modules");
  const before = screen.one("path").getAttribute("d");
  screen.draw(<QrCode text="ABCD2346" label="voucher" />);
  assert.notEqual(screen.one("path").getAttribute("d"), before);
});
