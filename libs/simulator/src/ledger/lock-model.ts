/** Rules about exclusive keys: holders run, who waits longest is next, and nobody is forgotten. */
import type { InvocationId } from "@perdure/base";
import type { ObjectLock } from "@perdure/partition";
import type { SimulationFindings } from "../findings.js";

export class LockModel {
  readonly #findings: SimulationFindings;
  /** Who waits for each key, in order of arrival. */
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

  /** Cancelled, killed or started. */
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
      "who waits longest is next",
      () => `${holder} before ${first} on ${object}`,
    );
  }

  unlocked(object: string): void {
    this.#holders.delete(object);
    const waiting = this.#queues.get(object)?.length ?? 0;
    this.#findings.require(waiting === 0, "a lock is given up only when nobody waits", () => `${waiting} wait for ${object}`);
  }
}
