/** Rules about exclusive keys: holders run, the invocation that waits longest is next, and none is skipped. */
import type { InvocationId } from "@perdure/base";
import type { ObjectLock } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";

export class LockModel {
  readonly #findings: SimulationFindings;
  /** Waiting invocations of each key, in order of arrival. */
  readonly #queues = new Map<string, InvocationId[]>();
  readonly #holders = new Map<string, InvocationId>();

  constructor(findings: SimulationFindings) {
    this.#findings = findings;
  }

  holder(object: string): InvocationId | undefined {
    return this.#holders.get(object);
  }

  get held(): ReadonlyMap<string, InvocationId> {
    return this.#holders;
  }

  joined(object: string, id: InvocationId): void {
    const queue = this.#queues.get(object) ?? [];
    this.#queues.set(object, queue);
    this.#findings.require(!queue.includes(id), "an invocation waits for its object once", () => `${id} for ${object}`);
    queue.push(id);
  }

  /** The invocation was cancelled, killed or started. */
  left(object: string, id: InvocationId): void {
    const queue = this.#queues.get(object);
    const at = queue?.indexOf(id) ?? -1;
    if (at >= 0) queue?.splice(at, 1);
  }

  locked(object: string, lock: ObjectLock): void {
    const { holder } = lock;
    if (holder === undefined || holder === this.#holders.get(object)) return;
    this.#holders.set(object, holder);
    const [first] = this.#queues.get(object) ?? [];
    this.#findings.require(
      first === undefined || first === holder,
      "the invocation that waits longest is next",
      () => `${holder} before ${first} on ${object}`,
    );
  }

  unlocked(object: string): void {
    this.#holders.delete(object);
    const waiting = this.#queues.get(object)?.length ?? 0;
    this.#findings.require(
      waiting === 0,
      "a lock is released only when no invocation waits",
      () => `${waiting} wait for ${object}`,
    );
  }
}
