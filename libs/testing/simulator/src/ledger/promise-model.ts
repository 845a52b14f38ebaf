/** Rules about durable promises: the first completion counts, and every reader of the promise reads that one. */

import type { JournalCommand, NotificationResult } from "@perdure/service-protocol";
import type { WorkflowPromise } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import { outcomeText } from "./generation-record.js";

export class PromiseModel {
  readonly #findings: SimulationFindings;
  readonly #present = new Map<string, WorkflowPromise>();
  /** Every value that a promise of this name had: one for each generation of its workflow. */
  readonly #values = new Map<string, Set<string>>();

  constructor(findings: SimulationFindings) {
    this.#findings = findings;
  }

  isCompleted(name: string): boolean {
    return this.#present.get(name)?.kind === "completed";
  }

  /** Names of promises of the key, which is `service/key`. */
  *of(object: string): Iterable<string> {
    for (const name of this.#present.keys()) if (name.startsWith(`${object}/`)) yield name;
  }

  put(name: string, promise: WorkflowPromise): void {
    const before = this.#present.get(name);
    this.#present.set(name, promise);
    const isKept =
      before?.kind !== "completed" ||
      (promise.kind === "completed" && outcomeText(promise.outcome) === outcomeText(before.outcome));
    this.#findings.require(isKept, "a promise has one value", () => `${name} had ${textOf(before)}, now ${textOf(promise)}`);
    if (promise.kind !== "completed") return;
    const values = this.#values.get(name) ?? new Set();
    this.#values.set(name, values.add(outcomeText(promise.outcome)));
  }

  delete(name: string): void {
    this.#present.delete(name);
  }

  /** Checks the result of a command of a handler of the key `object`. */
  answered(object: string, command: JournalCommand, result: NotificationResult): void {
    if (command.kind !== "getPromise" && command.kind !== "peekPromise" && command.kind !== "completePromise") return;
    const name = `${object}/${command.key}`;
    if (command.kind === "completePromise") {
      if (result.kind !== "void") return;
      const { completion } = command;
      const isValue = completion.kind === "failure" || this.#has(name, `value ${Buffer.from(completion.value)}`);
      this.#findings.require(isValue, "an accepted completion completes the promise", () => name);
    } else if (result.kind === "value") {
      const text = `value ${Buffer.from(result.value)}`;
      this.#findings.require(this.#has(name, text), "a promise is read as it was completed", () => `${name}: ${text}`);
    }
  }

  #has(name: string, value: string): boolean {
    return this.#values.get(name)?.has(value) === true;
  }
}

function textOf(promise: WorkflowPromise | undefined): string {
  return promise?.kind === "completed" ? outcomeText(promise.outcome) : "none";
}
