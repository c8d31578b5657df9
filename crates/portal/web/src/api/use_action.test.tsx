import "../testkit/browser";
import assert from "node:assert/strict";
import { test } from "node:test";
import { act } from "preact/test-utils";
import { Screen, settle } from "../testkit/screen";
import { later } from "../testkit/server";
import { ApiError, Unreachable } from "./client";
import { type Action, useAction } from "./use_action";

let action: Action<[string]>;

function Form({ work }: { work: (text: string) => Promise<unknown> }) {
  action = useAction(work);
  const { busy, failed, fields } = action;
  return (
    <p>{[busy ? "busy" : "idle", failed, ...Object.entries(fields).map((field) => field.join(": "))].join("|")}</p>
  );
}

test("a change that goes through says so and leaves nothing behind", async () => {
  const done: string[] = [];
  const screen = new Screen(<Form work={async (text) => void done.push(text)} />);
  let went: boolean | undefined;
  await act(async () => void (went = await action.run("x")));
  assert.deepEqual([went, done, screen.text], [true, ["x"], "idle|"]);
  screen.leave();
});

test("while one is under way there is no second", async () => {
  const work = later<void>();
  let begun = 0;
  const screen = new Screen(<Form work={() => ((begun += 1), work.answer)} />);
  void act(() => void action.run("x"));
  await settle();
  assert.equal(screen.text, "busy|");
  assert.equal(await action.run("y"), false);
  assert.equal(begun, 1);
  await act(() => work.come());
  await settle();
  assert.equal(screen.text, "idle|");
  screen.leave();
});

test("two presses before the page is drawn again are one change", async () => {
  const work = later<void>();
  let begun = 0;
  const screen = new Screen(<Form work={() => ((begun += 1), work.answer)} />);
  await act(() => {
    void action.run("x");
    void action.run("x");
  });
  assert.equal(begun, 1);
  await act(() => work.come());
  screen.leave();
});

test("what is wrong with a field is shown at the field, its first word only", async () => {
  const refused = new ApiError(422, "invalid", "see fields", { height: ["is too small", "is odd"], email: [] });
  const screen = new Screen(<Form work={() => Promise.reject(refused)} />);
  await act(async () => assert.equal(await action.run(""), false));
  assert.deepEqual(action.fields, { height: "is too small", email: "not valid" });
  assert.equal(action.failed, "Height is too small; email is not valid.");
  await act(() => action.clear());
  assert.equal(screen.text, "idle|");
  screen.leave();
});

test("a further try begins without the words of the one before", async () => {
  let fails = true;
  const screen = new Screen(
    <Form
      work={async () => {
        if (fails) throw new Unreachable();
      }}
    />,
  );
  await act(async () => void (await action.run("")));
  assert.match(screen.text, /cannot be reached/);
  fails = false;
  await act(async () => assert.equal(await action.run(""), true));
  assert.equal(screen.text, "idle|");
  screen.leave();
});
