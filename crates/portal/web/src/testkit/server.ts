// A server whose answers a test decides. It takes the place of `fetch` and remembers what was asked of it.

export interface Asked {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: unknown;
  signal: AbortSignal | undefined;
}

/** What answers a request: JSON with status 200, an answer of its own, or an error in place of any answer. */
export type Answer = unknown | Response | Error;
type Answering = (asked: Asked) => Answer | Promise<Answer>;

export class Server {
  readonly asked: Asked[] = [];
  private readonly answers: { method: string; path: string | RegExp; answering: Answering }[] = [];

  constructor() {
    globalThis.fetch = ((path: string, init: RequestInit = {}) => this.take(String(path), init)) as typeof fetch;
  }

  /** Answers a method and path from now on, for instance `GET /livez`; the latest that fits counts. */
  on(method: string, path: string | RegExp, answering: Answering): this {
    this.answers.unshift({ method, path, answering });
    return this;
  }

  /** What was asked of a path, oldest first. */
  of(path: string | RegExp): Asked[] {
    return this.asked.filter((one) => fits(path, one.path));
  }

  private async take(path: string, init: RequestInit): Promise<Response> {
    const asked: Asked = {
      method: init.method ?? "GET",
      path,
      headers: (init.headers ?? {}) as Record<string, string>,
      body: typeof init.body === "string" ? JSON.parse(init.body) : undefined,
      signal: init.signal ?? undefined,
    };
    this.asked.push(asked);
    const found = this.answers.find((one) => one.method === asked.method && fits(one.path, path));
    if (!found) throw new Error(`the test has no answer to ${asked.method} ${path}`);
    const answer = await untilAborted(Promise.resolve(found.answering(asked)), asked.signal);
    if (answer instanceof Error) throw answer;
    return answer instanceof Response ? answer : new Response(answer === undefined ? "" : JSON.stringify(answer));
  }
}

function fits(path: string | RegExp, asked: string): boolean {
  return typeof path === "string" ? path === asked : path.test(asked);
}

/** As `fetch` does: ends with an error as soon as the signal says so. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(new DOMException("aborted", "AbortError"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    work.then(resolve, reject);
  });
}

/** A refusal as the service words it. */
export function refusal(
  status: number,
  code: string,
  more: { message?: string; errors?: unknown; retryAfter?: string } = {},
): Response {
  const { message = code, errors, retryAfter } = more;
  const headers: Record<string, string> = retryAfter === undefined ? {} : { "Retry-After": retryAfter };
  return new Response(JSON.stringify({ message, code, errors }), { status, headers });
}

/** An answer that comes when the test lets it. */
export function later<T>(): { answer: Promise<T>; come: (value: T) => void; fail: (error: Error) => void } {
  let come!: (value: T) => void;
  let fail!: (error: Error) => void;
  const answer = new Promise<T>((resolve, reject) => ([come, fail] = [resolve, reject]));
  return { answer, come, fail };
}
