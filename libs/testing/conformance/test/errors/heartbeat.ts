/** Calls a healthy service continuously, which must not be affected by what other endpoints do. */
import { setTimeout as delay } from "node:timers/promises";
import type { TestWorld } from "../../src/index.js";

/** Short against every test, and long enough that the calls are a small part of the suite's work. */
const PAUSE_MS = 100;

export class Heartbeat implements AsyncDisposable {
  readonly #beating: Promise<void>;
  #stopped = false;
  beats = 0;
  slowestMs = 0;
  failures: string[] = [];

  /** `path` answers with what it is given. */
  constructor(world: TestWorld, path: readonly [string, string]) {
    this.#beating = this.#beat(world, path);
  }

  async #beat(world: TestWorld, path: readonly [string, string]): Promise<void> {
    while (!this.#stopped) {
      const startedAt = performance.now();
      try {
        const answer = await world.ingress.result(path, this.beats);
        if (answer !== this.beats) this.failures.push(`beat ${this.beats} came back as ${JSON.stringify(answer)}`);
      } catch (cause) {
        this.failures.push(String(cause));
      }
      this.slowestMs = Math.max(this.slowestMs, performance.now() - startedAt);
      this.beats++;
      await delay(PAUSE_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    await this.#beating;
  }
}
