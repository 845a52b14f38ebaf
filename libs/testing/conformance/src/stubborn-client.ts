/**
 * A client that retries any failure with the same idempotency key until it has an answer. Each of its requests must be executed exactly
 * once, however often servers crash.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { HttpAnswer } from "./http.js";
import { type Path, TestIngressClient } from "./ingress-client.js";

/** Pause between two attempts. */
const PAUSE_MS = 20;
/** Statuses of a server that is starting; a stopped one does not answer. */
const TRY_AGAIN: ReadonlySet<number> = new Set([429, 503]);

export class StubbornClient implements Disposable {
  readonly #ingress: TestIngressClient;
  /** Requests that were retried. */
  retries = 0;

  constructor(base: string) {
    this.#ingress = new TestIngressClient(base);
  }

  /** The result; rejects only with an answer that is neither success nor a reason to retry. */
  async call<T>(path: Path, argument: unknown, idempotencyKey: string): Promise<T> {
    return this.#successOf<T>(await this.#insist(() => this.#ingress.call(path, argument, { idempotencyKey })));
  }

  /** The same in two requests: sends the invocation, then waits for its end by its id. */
  async sendAndAttach<T>(path: Path, argument: unknown, idempotencyKey: string): Promise<T> {
    const { invocationId } = await this.#insist(() => this.#ingress.send(path, argument, { idempotencyKey }));
    return this.#successOf<T>(await this.#insist(() => this.#ingress.attach(invocationId)));
  }

  async #insist<T extends HttpAnswer | object>(request: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const answer = await request();
        if (!("status" in answer && TRY_AGAIN.has(answer.status as number))) return answer;
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === undefined) throw cause; // Not an error of the connection.
      }
      this.retries++;
      await delay(PAUSE_MS);
    }
  }

  #successOf<T>(answer: HttpAnswer): T {
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.json as T;
  }

  [Symbol.dispose](): void {
    this.#ingress[Symbol.dispose]();
  }
}
