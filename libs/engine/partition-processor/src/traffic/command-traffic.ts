/** The invocations that the present command creates and completes; they are counted when the command is kept. */
import type { Effect, Invocation, InvocationFacts, Outcome } from "@perdure/state-machine";
import type { TrafficCounters } from "./traffic-counters.js";

export class CommandTraffic {
  readonly #counters: TrafficCounters;
  readonly #created: InvocationFacts[] = [];
  readonly #completed: InvocationFacts[] = [];
  /** Outcomes of the completed ones, in the same order. */
  readonly #outcomes: Outcome[] = [];

  constructor(counters: TrafficCounters) {
    this.#counters = counters;
  }

  /** `from`: undefined for a new invocation. `to`: undefined for one that is deleted; `effects` of the command announce its outcome. */
  move(from: Invocation | undefined, to: Invocation | undefined, effects: readonly Effect[]): void {
    if (from === undefined && to !== undefined) this.#created.push(to.facts);
    if (to === undefined) this.#deleted(from, effects);
    else if (to.status === "completed" && from?.status !== "completed") this.#complete(to.facts, to.outcome);
  }

  #deleted(from: Invocation | undefined, effects: readonly Effect[]): void {
    if (from === undefined || from.status === "completed") return;
    const { facts } = from;
    const announced = effects.find((effect) => effect.kind === "announce" && effect.id === facts.id);
    if (announced?.kind === "announce") this.#complete(facts, announced.outcome);
  }

  #complete(facts: InvocationFacts, outcome: Outcome): void {
    this.#completed.push(facts);
    this.#outcomes.push(outcome);
  }

  accept(nowMs: number): void {
    if (this.#created.length > 0) {
      for (const { target } of this.#created) this.#counters.created(target.service, nowMs);
      this.#created.length = 0;
    }
    if (this.#completed.length === 0) return;
    for (const [index, { target, executionTimeMs, createdAtMs }] of this.#completed.entries()) {
      const isFailure = this.#outcomes[index]?.kind === "failure";
      this.#counters.completed(target.service, nowMs, nowMs - (executionTimeMs ?? createdAtMs), isFailure);
    }
    this.#completed.length = 0;
    this.#outcomes.length = 0;
  }

  takeBack(): void {
    this.#created.length = 0;
    this.#completed.length = 0;
    this.#outcomes.length = 0;
  }
}
