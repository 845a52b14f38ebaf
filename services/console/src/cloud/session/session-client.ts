/**
 * The page's session is a cookie that it cannot read. Each request carries a token that only this page has. When the session has ended, or
 * the user must prove their identity again, the client prompts the user and then repeats the request.
 */
import { z } from "zod";
import { isRecord } from "../../kit/problem-text.js";

const sessionShape = z.object({
  user: z.object({ userId: z.string(), email: z.string(), name: z.string().nullish() }),
  csrf: z.string(),
  /** Unix seconds. */
  confirmedUntil: z.number().nullable(),
  /** Proof of the user's identity: a password here, or a sign-in through the provider of this name. */
  confirmBy: z.object({ password: z.boolean(), provider: z.string().nullable() }),
  /** Path of the Cloud API for command lines. */
  apiUrl: z.string(),
});
export type ConsoleSession = z.infer<typeof sessionShape>;

/** The prompt that the user sees. `isLater`: the user dismissed it for now. */
export type SessionQuestion = { readonly kind: "signIn"; readonly isLater: boolean } | { readonly kind: "confirm" };

interface SessionClientOptions {
  readonly session: ConsoleSession;
  /** Requests the session from the server of the page. */
  readonly fetch: typeof fetch;
  /** Called when another user has signed in here: all contents of the page belong to the previous user. */
  readonly onUserChanged: () => void;
}

/** A request is repeated after an answered question, and after a session changed its proof; beyond that something is wrong. */
const REPEATS_MAX = 3;
const CSRF_HEADER = "x-perdure-csrf";

/** The signed-in user. Undefined when no user is signed in; rejects when the server does not answer. */
export async function fetchSession(fetchFn: typeof fetch, signal?: AbortSignal): Promise<ConsoleSession | undefined> {
  const response = await fetchFn("/console/session", { headers: { accept: "application/json" }, signal: signal ?? null });
  if (response.status === 401) return undefined;
  if (!response.ok) throw new Error(`The session could not be read: the server returned ${response.status}.`);
  return sessionShape.parse(await response.json());
}

export class SessionClient {
  readonly #options: SessionClientOptions;
  readonly #listeners = new Set<() => void>();
  #session: ConsoleSession;
  #question: SessionQuestion | undefined;
  #answered: PromiseWithResolvers<boolean> | undefined;

  constructor(options: SessionClientOptions) {
    this.#options = options;
    this.#session = options.session;
  }

  get session(): ConsoleSession {
    return this.#session;
  }

  get question(): SessionQuestion | undefined {
    return this.#question;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Like `fetch`, for paths below `/console/`. Waits for the user when a prompt is needed; the body must be one that can be sent twice. */
  readonly fetch: typeof fetch = async (input, init = {}) => {
    const signal = init.signal ?? undefined;
    for (let repeats = 0; ; repeats++) {
      const { csrf } = this.#session;
      const headers = new Headers(init.headers);
      headers.set(CSRF_HEADER, csrf);
      const response = await this.#options.fetch(input, { ...init, headers });
      if (repeats === REPEATS_MAX || !(await this.#changed(response, csrf, signal))) return response;
    }
  };

  /** Requests the session again; an open prompt may have become unnecessary meanwhile. */
  async refresh(signal?: AbortSignal): Promise<"there" | "gone"> {
    const session = await fetchSession(this.#options.fetch, signal);
    if (session === undefined) return "gone";
    if (session.user.userId !== this.#session.user.userId) {
      this.#options.onUserChanged();
      return "there";
    }
    this.#session = session;
    const isConfirmed = (session.confirmedUntil ?? 0) * 1_000 > Date.now();
    if (this.#question?.kind === "signIn" || (this.#question?.kind === "confirm" && isConfirmed)) this.answer(true);
    else this.#notify();
    return "there";
  }

  /** `isDone` false: dismissed, and the waiting requests fail. */
  answer(isDone: boolean): void {
    const isLater = !isDone && this.#question?.kind === "signIn";
    this.#question = isLater ? { kind: "signIn", isLater } : undefined;
    this.#answered?.resolve(isDone);
    this.#answered = undefined;
    this.#notify();
  }

  /** Whether a repeated request can succeed. */
  async #changed(response: Response, shownCsrf: string, signal: AbortSignal | undefined): Promise<boolean> {
    if (response.status !== 401 && response.status !== 403) return false;
    if ((await codeOf(response)) === "PERD0428") return await this.prompt("confirm", signal);
    if (this.#session.csrf !== shownCsrf) return true;
    // Services answer with these statuses too, so the session is checked.
    if ((await this.refresh(signal)) === "gone") return await this.prompt("signIn", signal);
    return this.#session.csrf !== shownCsrf;
  }

  /** Resolves when the user has answered; at once with false after the user dismissed the sign-in prompt. */
  async prompt(kind: SessionQuestion["kind"], signal?: AbortSignal): Promise<boolean> {
    if (kind === "signIn" && this.#question?.kind === "signIn" && this.#question.isLater) return false;
    if (this.#question?.kind !== kind) {
      this.#question = kind === "signIn" ? { kind, isLater: false } : { kind };
      this.#notify();
    }
    this.#answered ??= Promise.withResolvers();
    return await orAborted(this.#answered.promise, signal);
  }

  /** Shows the sign-in prompt once more after it was dismissed. */
  remind(): void {
    this.#question = { kind: "signIn", isLater: false };
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Returns the error code of an answer of the cloud itself; the body stays to be read. */
async function codeOf(response: Response): Promise<string | undefined> {
  if (!new URL(response.url, "http://here.invalid").pathname.startsWith("/console/cloud/")) return undefined;
  try {
    const body: unknown = await response.clone().json();
    const code = isRecord(body) ? body["restate_code"] : undefined;
    return typeof code === "string" ? code : undefined;
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
