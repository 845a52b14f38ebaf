/** Rules about state with a time to live: a handler that starts finds none that is older, and nothing is left when all has expired. */
import { decodeStateExpiry, type Invocation, isExclusive, keyspaceOf, type StateExpiry } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import type { StateModel } from "../ledger/state-model.js";

export class StateTtlModel {
  readonly #findings: SimulationFindings;
  /** Stored rows by their keys, and the same by object. */
  readonly #rows = new Map<string, StateExpiry>();
  readonly #byObject = new Map<string, StateExpiry>();
  #expiredCount = 0;

  constructor(findings: SimulationFindings) {
    this.#findings = findings;
  }

  /** Number of states that have expired. */
  get expiredCount(): number {
    return this.#expiredCount;
  }

  put(key: string, row: Uint8Array): true {
    const expiry = decodeStateExpiry(row);
    this.#rows.set(key, expiry);
    this.#byObject.set(`${expiry.service}/${expiry.key}`, expiry);
    return true;
  }

  deleted(key: string): true {
    const expiry = this.#rows.get(key);
    this.#findings.require(expiry !== undefined, "only existing rows are deleted", () => `time to live ${key}`);
    if (expiry === undefined) return true;
    this.#rows.delete(key);
    this.#byObject.delete(`${expiry.service}/${expiry.key}`);
    this.#expiredCount++;
    return true;
  }

  /** An exclusive handler that starts for the first time finds no state that has expired by the clock of its leader. */
  moved(before: Invocation | undefined, { status, facts: { id, target }, modifiedAtMs }: Invocation, states: StateModel): void {
    if (!isExclusive(target) || status !== "invoked" || (before !== undefined && before.run > 0)) return;
    const state = states.of(keyspaceOf(target), target.key);
    const expiry = this.#byObject.get(`${keyspaceOf(target)}/${target.key}`);
    this.#findings.require(
      expiry === undefined || expiry.expiresAtMs > modifiedAtMs || state.size === 0,
      "a handler that starts finds no state that has expired",
      () => `${id} at ${modifiedAtMs}, expired at ${expiry?.expiresAtMs}`,
    );
  }

  /** All times to live are over. */
  allIsOver(objects: ReadonlyMap<string, ReadonlyMap<string, unknown>>, isKept: boolean): void {
    this.#findings.require(this.#rows.size === 0, "expired rows are deleted", () => `of ${[...this.#byObject.keys()].join()}`);
    if (isKept) return;
    for (const [object, state] of objects) {
      if (!object.startsWith("O/")) continue;
      this.#findings.require(
        state.size === 0,
        "state with a time to live expires",
        () => `${object}: ${[...state.keys()].join()}`,
      );
    }
  }
}
