import "../../testkit/browser";
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { act } from "preact/test-utils";
import { connectionAnswered, connectionLost } from "../../api/connection";
import type { Patient } from "../../api/types";
import { navigate } from "../../router";
import { enter, group, patient } from "../../testkit/people";
import { Screen, settle, textOf } from "../../testkit/screen";
import { refusal, Server } from "../../testkit/server";
import RecordPage from "./page";

let server: Server;
let screen: Screen;
let ada: Patient;

beforeEach(async () => {
  server = new Server();
  ada = patient("u1", { first_name: "Ada", last_name: "B", height: 170, birthday: "1961-11-20", device: null });
  server
    .on("GET", "/integration/v1/groups", () => [group("ABCDE")])
    .on("GET", /groups\/ABCDE\/patients$/, () => [ada])
    .on("GET", /alarms$/, () => ({ alarms: [{ vital: "heart_rate", below: null, above: 130, for_s: 300 }] }))
    .on("GET", /news-settings$/, () => ({ oxygen: false, spo2_scale: 1, consciousness: "A", assumed: ["oxygen"] }))
    .on("GET", /bracelets$/, () => []);
  await enter(server);
  screen = new Screen(null);
});
afterEach(() => screen.leave());

const show = async (part = "profile") => {
  await act(() => navigate(`/studies/ABCDE/patients/u1/record?part=${part}`, { replace: true }));
  screen.draw(<RecordPage key={part} params={{ code: "ABCDE", uuid: "u1" }} />);
  await settle();
};
const changed = (method: string) => server.asked.filter((one) => one.method === method);
/** The form that a field is in. */
const submitOf = async (label: string) => {
  const form = screen.field(label).closest("form")!;
  await act(() => void form.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  await settle();
};
const saveOf = (label: string) =>
  screen.field(label).closest("form")!.querySelector<HTMLButtonElement>("[type=submit]")!;

test("only what was changed is sent, numbers as numbers", async () => {
  server.on("PUT", /profile$/, () => undefined);
  await show();
  assert.equal(saveOf("First name").disabled, true, "nothing has been changed");
  await screen.type("First name", "Eva");
  await screen.type("Height", "171,5");
  await submitOf("First name");
  assert.deepEqual(changed("PUT")[0]!.body, { first_name: "Eva", height: 171.5 });
});

test("a field that is emptied is taken away, and one changed back is no change", async () => {
  await show();
  await screen.type("Last name", "");
  assert.equal(saveOf("Last name").disabled, false);
  await screen.type("Last name", "B");
  assert.equal(saveOf("Last name").disabled, true);
  await screen.type("Last name", "");
  await screen.type("Height", "");
  await submitOf("Last name");
  assert.deepEqual(changed("PUT")[0]!.body, { last_name: null, height: null });
});

test("a refusal is shown at its field, and what was typed stays", async () => {
  server.on("PUT", /profile$/, () => refusal(422, "invalid", { errors: { height: ["must be 50 to 250"] } }));
  await show();
  await screen.type("Height", "1700");
  await submitOf("Height");
  const note = document.getElementById(screen.field("Height").getAttribute("aria-describedby")!);
  assert.equal(textOf(note!), "must be 50 to 250");
  assert.equal(screen.field("Height").value, "1700");
});

test("what is typed in one form stays when another is saved", async () => {
  server.on("PATCH", /patients\/u1$/, ({ body }) => void (ada = { ...ada, ...(body as object) }));
  await show();
  await screen.type("First name", "Eva");
  await screen.type("Your identifier", "K-77");
  await submitOf("Your identifier");
  assert.deepEqual(changed("PATCH")[0]!.body, { external_patient_id: "K-77" });
  assert.equal(screen.field("First name").value, "Eva");
});

test("what is typed stays when the connection comes back with a newer sync", async () => {
  server.on("GET", "/livez", () => "ok");
  await show();
  await screen.type("First name", "Eva");
  ada = { ...ada, device: { serial_number: "SN-1", updated_at: "2026-11-22T12:00:00Z", battery_level: 55 } };
  await act(() => connectionLost());
  await act(() => connectionAnswered());
  await settle();
  assert.equal(screen.field("First name").value, "Eva");
});

test("what somebody else has saved meanwhile is shown where nothing is being typed", async () => {
  server.on("GET", "/livez", () => "ok");
  await show();
  ada = { ...ada, first_name: "Ida" };
  await act(() => connectionLost());
  await act(() => connectionAnswered());
  await settle();
  assert.equal(screen.field("First name").value, "Ida");
});

test("a time zone that was saved is no change any more", async () => {
  server.on("PATCH", /patients\/u1$/, () => undefined);
  await show();
  await screen.type("Time zone", "Asia/Kathmandu");
  await submitOf("Time zone");
  assert.deepEqual(changed("PATCH")[0]!.body, { time_zone: "Asia/Kathmandu" });
  assert.equal(saveOf("Time zone").disabled, true);
});

test("alarms are added, changed and taken out, and an empty limit is none", async () => {
  server.on("PUT", /alarms$/, ({ body }) => body);
  await show("alarms");
  assert.equal(saveOf("Above").disabled, true);
  await screen.press("Add alarm");
  await screen.press("Remove alarm 1");
  await screen.choose("Vital", "temperature");
  await screen.type("Below", " 35,5 ");
  await submitOf("Below");
  assert.deepEqual(changed("PUT")[0]!.body, { alarms: [{ vital: "temperature", below: 35.5, for_s: 300 }] });
  assert.equal(saveOf("Below").disabled, true, "what was saved is no change any more");
});

test("the unit of a limit is that of its vital", async () => {
  await show("alarms");
  assert.match(textOf(screen.field("Above").parentElement!), /\/min/);
  await screen.choose("Vital", "spo2");
  assert.match(textOf(screen.field("Above").parentElement!), /%/);
});

test("a limit that is no number goes to the server as it is, which refuses it", async () => {
  server.on("PUT", /alarms$/, () => refusal(422, "invalid", { errors: { alarms: ["above must be a number"] } }));
  await show("alarms");
  await screen.type("Above", "high");
  await submitOf("Above");
  assert.deepEqual(changed("PUT")[0]!.body, { alarms: [{ vital: "heart_rate", above: "high", for_s: 300 }] });
  assert.match(screen.text, /Alarms above must be a number/);
});

test("a refused alarm is named as on the screen, and its field says why", async () => {
  server.on("PUT", /alarms$/, () =>
    refusal(422, "invalid", { errors: { "alarms.0.below": ["or above is required"] } }),
  );
  await show("alarms");
  await screen.type("Above", "");
  await submitOf("Above");
  assert.match(screen.text, /Alarm 1, below or above is required\./);
  assert.doesNotMatch(screen.text, /alarms\.0/);
  const note = document.getElementById(screen.field("Below").getAttribute("aria-describedby")!);
  assert.equal(textOf(note!), "or above is required");
});

test("what nobody has set is said to be assumed, and saved it is set", async () => {
  server.on("PUT", /news-settings$/, ({ body }) => ({ ...(body as object), assumed: [] }));
  await show("alarms");
  assert.match(screen.text, /Assumed: nobody has set this yet/);
  await screen.choose("Breathing", "true");
  await screen.choose("SpO₂ scale", "2");
  await submitOf("Breathing");
  assert.deepEqual(changed("PUT")[0]!.body, { oxygen: true, spo2_scale: 2, consciousness: "A" });
  assert.doesNotMatch(screen.text, /Assumed/);
});

test("a bracelet is put on and taken off", async () => {
  let wearer: string | null = null;
  server.on("GET", /bracelets$/, () => [
    {
      id: "b",
      serial_number: "SN/1",
      device_type: "bracelet",
      created_at: "2026-01-01T00:00:00Z",
      patient_uuid: wearer,
    },
  ]);
  server.on("PUT", /bracelets/, () => void (wearer = "u1")).on("DELETE", /bracelets/, () => void (wearer = null));
  await show("bracelet");
  await screen.press("Put on");
  assert.equal(changed("PUT")[0]!.path, "/integration/v1/patients/u1/bracelets/SN%2F1");
  assert.match(screen.text, /Assigned: SN\/1/);
  await screen.press("Take off");
  assert.equal(changed("DELETE").length, 1);
  assert.match(screen.text, /No bracelet is assigned/);
});

test("a patient is erased after their name was typed, and the receipt stays", async () => {
  server.on("DELETE", /patients\/u1$/, () => ({
    uuid: "u1",
    erased_at: "2026-11-22T12:00:00Z",
    counts: { rows: 12345, files: 2 },
  }));
  await show("erase");
  await screen.press("Erase patient");
  await screen.type("Type Ada B", "Ada B");
  await submitOf("Type Ada B");
  assert.match(screen.text, /Erased patient/);
  assert.match(screen.text, /files2rows12 345/);
  assert.equal(screen.text.includes("Ada"), false, "the name goes with the patient");
});

test("a practitioner may watch and not change the person", async () => {
  await enter(server, "hcp", { role: "hcp" });
  await show();
  assert.equal(screen.field("First name").disabled, true);
  assert.deepEqual(screen.all("[role=tab]").map(textOf), ["Profile", "Alarms and NEWS", "Bracelet"]);
});

test("a wall display changes nothing at all", async () => {
  await enter(server, "wall", { wall_display: true });
  await show("alarms");
  assert.equal(screen.all("button[type=submit]").length, 0);
  assert.equal(screen.one<HTMLFieldSetElement>("fieldset").disabled, true);
});

test("a patient that the study does not hold is said not to be there", async () => {
  server.on("GET", /groups\/ABCDE\/patients$/, () => []);
  await show();
  assert.match(screen.text, /does not hold this patient/);
});

test("a new password is sent and gone from the page", async () => {
  server.on("POST", /reset-password$/, () => undefined);
  await show();
  await screen.type("Temporary password", "tide-lamp-42");
  await submitOf("Temporary password");
  assert.deepEqual(changed("POST").at(-1)!.body, { password: "tide-lamp-42" });
  assert.equal(screen.field("Temporary password").value, "");
});
