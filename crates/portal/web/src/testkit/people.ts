// People and records that tests of pages begin with.

import { act } from "preact/test-utils";
import { signIn } from "../api/session";
import type { Group, Patient, Role, Session } from "../api/types";
import type { Server } from "./server";

export function sessionOf(uuid: string, more: Partial<Session> & { role?: Role } = {}): Session {
  const { role = "researcher", ...rest } = more;
  return {
    csrf_token: `token of ${uuid}`,
    account: { uuid, email: `${uuid}@ward.example`, role, has_subscription: true },
    idle_s: 900,
    ends_at: "2026-11-23T00:00:00Z",
    must_change_password: false,
    totp: false,
    wall_display: false,
    ...rest,
  };
}

/** Signs somebody in, as the sign-in page does. */
export async function enter(server: Server, uuid = "ada", more: Parameters<typeof sessionOf>[1] = {}): Promise<void> {
  server.on("POST", "/portal/session", () => sessionOf(uuid, more));
  await act(() => signIn({ email: "", password: "" }));
}

export function group(code: string, more: Partial<Group> = {}): Group {
  return {
    code,
    name: `Study ${code}`,
    description: "",
    hcpCode: `H-${code}`,
    id: `id-${code}`,
    timestamp: 0,
    ...more,
  };
}

export function patient(uuid: string, more: Partial<Patient> = {}): Patient {
  return { uuid, state: "confirmed", first_name: "Pat", last_name: uuid, ...more };
}
