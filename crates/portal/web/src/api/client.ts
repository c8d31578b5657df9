// The one place where the portal talks to the server. Every call carries the session's cookie and its CSRF token; what
// goes wrong comes back as an ApiError with the server's own code, or as Unreachable when there was no answer at all.

import { connectionAnswered, connectionLost } from "./connection";

/** An answer of the server that says no. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    /** The server's word for what is wrong, e.g. `group_has_patients`. */
    readonly code: string,
    message: string,
    /** Of 422: what is wrong with which field. */
    readonly fields: Record<string, string[]> = {},
    /** Of 429 and 503: seconds to wait. */
    readonly retryAfterS: number | null = null,
  ) {
    super(message);
  }
}

/** There was no answer. The banner already says so. */
export class Unreachable extends Error {
  constructor() {
    super("the server cannot be reached");
  }
}

let csrfToken = "";
let onSessionEnd: () => void = () => {};
let renewToken: () => Promise<boolean> = async () => false;

/** Set by the session: what every later call carries. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/** What happens when the server no longer knows the session. */
export function whenSessionEnds(then: () => void): void {
  onSessionEnd = then;
}

/** How to come by the present CSRF token; answers whether the session is still the same person's. */
export function whenTokenIsStale(then: () => Promise<boolean>): void {
  renewToken = then;
}

/** The methods that change something. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Calls an address and returns its JSON, or undefined for an empty answer. Throws ApiError or Unreachable. */
export async function call<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  let answer = await send(method, path, body, signal);
  if (answer.ok) return readBody<T>(answer);
  let error = await readError(answer);
  if (error.code === "csrf" && (await renewToken())) {
    // Signed in again in another tab: what was refused was not done, so it can be sent once more.
    answer = await send(method, path, body, signal);
    if (answer.ok) return readBody<T>(answer);
    error = await readError(answer);
  }
  if (error.status === 401 && sessionIsOver(error.code, path)) onSessionEnd();
  throw error;
}

export const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, undefined, signal);

/** The text at an address that does not answer JSON, such as a drawing. */
export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  const answer = await send("GET", path, undefined, signal);
  if (!answer.ok) throw await readError(answer);
  return answer.text();
}

async function send(method: Method, path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (csrfToken !== "") headers["X-CSRF-Token"] = csrfToken;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      // What was measured must not be found in the browser's cache after signing out.
      cache: "no-store",
      signal,
    });
    connectionAnswered();
    return answer;
  } catch (error) {
    if (signal?.aborted) throw error;
    connectionLost();
    throw new Unreachable();
  }
}

async function readBody<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

async function readError(answer: Response): Promise<ApiError> {
  const wait = Number(answer.headers.get("Retry-After"));
  const retryAfterS = Number.isFinite(wait) && wait > 0 ? wait : null;
  // A proxy may answer in place of the service, and HTTP/2 has no reason phrase with a status.
  const { message, code, errors } = (await answer.json().catch(() => null)) ?? {};
  const words = message || answer.statusText || `status ${answer.status}`;
  return new ApiError(answer.status, code ?? "unknown", words, errors ?? {}, retryAfterS);
}

/** Signing in answers 401 too, but there is no session yet that could be over. */
function sessionIsOver(code: string, path: string): boolean {
  return !path.startsWith("/portal/session") && code !== "invalid_credentials" && code !== "totp_required";
}
