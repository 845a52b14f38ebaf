/**
 * Records every execution of a step and every value that a handler got for it, which only handlers can observe, and passes each sign of
 * progress of a partition on with the start time of its attempt.
 */
import { randomUUID } from "node:crypto";

/** A step of a job was stored: the partition of this invocation had a leader then. */
export interface StepProgress {
  readonly invocationId: string;
  /** Start of the attempt that got the value, on this process's monotonic clock. */
  readonly attemptSinceMs: number;
  readonly nowMs: number;
}

export class ObservedAttempt {
  readonly #record: HandlerRecord;
  readonly #invocationId: string;
  readonly #name: string;
  readonly #sinceMs = performance.now();

  constructor(record: HandlerRecord, invocationId: string, name: string) {
    this.#record = record;
    this.#invocationId = invocationId;
    this.#name = name;
  }

  /** A random value, which must be stored to be the same again. */
  execute(): string {
    this.#record.executionCount++;
    return randomUUID();
  }

  /** Records the value that the handler got for a step, executed now or replayed. */
  saw(step: number | string, value: string): void {
    this.#record.note(this.#name, `${step}`, value);
    this.progressed();
  }

  /** Reports that the server has answered something that it stores first. */
  progressed(): void {
    const progress = { invocationId: this.#invocationId, attemptSinceMs: this.#sinceMs, nowMs: performance.now() };
    for (const listener of this.#record.listeners) listener(progress);
  }

  ended(): void {
    this.#record.endings.set(this.#name, (this.#record.endings.get(this.#name) ?? 0) + 1);
  }
}

export interface PendingAwakeable {
  readonly id: string;
  readonly name: string;
}

export class HandlerRecord {
  executionCount = 0;
  replayCount = 0;
  readonly listeners = new Set<(progress: StepProgress) => void>();
  /** Number of times that the handler of a job ended. */
  readonly endings = new Map<string, number>();
  readonly violations: string[] = [];
  /** Called when a handler waits for an awakeable that the test must complete. */
  onAwakeable: (waiting: PendingAwakeable) => void = () => undefined;
  /** Values by job and step. */
  readonly #stepValues = new Map<string, Map<string, string>>();
  /** Sums that additions got, by counter and token; an addition that happened once has one. */
  readonly #sums = new Map<string, Map<string, Set<number>>>();

  attempt(invocationId: string, name: string): ObservedAttempt {
    return new ObservedAttempt(this, invocationId, name);
  }

  note(name: string, step: string, value: string): void {
    let steps = this.#stepValues.get(name);
    if (steps === undefined) {
      steps = new Map();
      this.#stepValues.set(name, steps);
    }
    const before = steps.get(step);
    if (before === undefined) steps.set(step, value);
    else if (before === value) this.replayCount++;
    else this.violations.push(`step ${step} of ${name} was ${before} and is now ${value}`);
  }

  added(counter: string, token: string, sum: number): void {
    let tokens = this.#sums.get(counter);
    if (tokens === undefined) {
      tokens = new Map();
      this.#sums.set(counter, tokens);
    }
    const sums = tokens.get(token);
    if (sums === undefined) tokens.set(token, new Set([sum]));
    else sums.add(sum);
  }

  /** Values of a job's steps in the order in which they were first recorded. */
  values(name: string): readonly string[] {
    return [...(this.#stepValues.get(name)?.values() ?? [])];
  }

  /** Additions with several sums: at most one of these happened, unless the counter is wrong. */
  suspects(counter: string): readonly string[] {
    return [...(this.#sums.get(counter) ?? [])]
      .filter(([, sums]) => sums.size > 1)
      .map(([token, sums]) => `${token}: ${[...sums].join(", ")}`);
  }

  additions(counter: string): number {
    return this.#sums.get(counter)?.size ?? 0;
  }

  hasAdded(counter: string, token: string): boolean {
    return this.#sums.get(counter)?.has(token) === true;
  }
}
