/**
 * Why: a caller that never gives up: whatever breaks, it asks again with the same idempotency key until it has an answer. What
 * such a caller asked for must happen exactly once, however often servers die meanwhile.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { HttpAnswer } from "./http.js";
import { type Path, TestIngressClient } from "./ingress-client.js";

/** Between two tries. */
const PAUSE_MS = 20;
/** A server that is down says nothing; one that comes up says so with one of these. */
const TRY_AGAIN: ReadonlySet<number> = new Set([429, 503]);

export class StubbornClient implements Disposable {
  readonly #ingress: TestIngressClient;
  /** Requests that had to be made again. */
  retries = 0;

  constructor(base: string) {
    this.#ingress = new TestIngressClient(base);
  }

  /** The result; rejects only with an answer that is neither success nor a reason to try again. */
  async call<T>(path: Path, argument: unknown, idempotencyKey: string): Promise<T> {
    return this.#successOf<T>(await this.#insist(() => this.#ingress.call(path, argument, { idempotencyKey })));
  }

  /** The same in two steps: hand it in, then wait for its end by its id. */
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
        if ((cause as NodeJS.ErrnoException).code === undefined) throw cause; // No trouble of a connection.
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
