/** Liveness and readiness of a process for an orchestrator. Parts that take time to start, or that are stopping, are listed by name. */

export interface HealthReport {
  /** False after a failure the process cannot recover from. */
  readonly live: boolean;
  readonly ready: boolean;
  /** Names of the parts that are not ready, for an operator who investigates. */
  readonly waitingFor: readonly string[];
}

export class Health {
  readonly #waiting = new Set<string>();
  #failed = false;

  /** The part counts as not ready until `ready` is called for it. */
  expect(part: string): void {
    this.#waiting.add(part);
  }

  ready(part: string): void {
    this.#waiting.delete(part);
  }

  /** Reports not ready until the process ends, which it is about to do. */
  fail(): void {
    this.#failed = true;
  }

  report(): HealthReport {
    const waitingFor = [...this.#waiting];
    return { live: !this.#failed, ready: !this.#failed && waitingFor.length === 0, waitingFor };
  }
}
