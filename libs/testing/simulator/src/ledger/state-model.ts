/** Rules about user state: counters grow by one at a time, and the stored state is what the journals produce. */
import { fromUtf8, type InvocationId } from "@perdure/base";
import { STATE_TTL_SERVICE, THROTTLE_KEY_COUNT, THROTTLE_SERVICE } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import { StateTtlModel } from "../state-ttl/model.js";
import { ThrottleModel } from "../throttle/model.js";

/** State keys that programs only ever raise by one. */
const COUNTERS: ReadonlySet<string> = new Set(["n", "m"]);

export class StateModel {
  readonly ttls: StateTtlModel;
  readonly throttle: ThrottleModel;
  readonly #findings: SimulationFindings;
  /** Objects whose handler was restored after others ran: it writes the counter that it read before. */
  readonly #restored = new Set<string>();
  readonly #objects = new Map<string, Map<string, Uint8Array>>();
  /** SetState and ClearState entries whose changes are not in the batch yet. */
  #demanded: { readonly object: string; readonly key: string; readonly value: string | undefined }[] = [];

  constructor(findings: SimulationFindings, wallMs: (() => number) | undefined) {
    this.#findings = findings;
    this.throttle = new ThrottleModel(findings, wallMs);
    this.ttls = new StateTtlModel(findings);
  }

  /** Returns a copy of the durable state of a key. */
  of(service: string, key: string): ReadonlyMap<string, Uint8Array> {
    return new Map(this.#objects.get(`${service}/${key}`));
  }

  get objects(): ReadonlyMap<string, ReadonlyMap<string, Uint8Array>> {
    return this.#objects;
  }

  restored(service: string, key: string | undefined): void {
    this.#restored.add(`${service}/${key}`);
  }

  /** A handler's command to change state was stored: the same batch must contain the change. */
  demand(service: string, key: string, stateKey: string, value: Uint8Array | undefined): void {
    this.#demanded.push({ object: `${service}/${key}`, key: stateKey, value: value && fromUtf8(value) });
  }

  /** Returns whether a command of a handler in this batch requires it, or it is a row of the partition. */
  put(service: string, key: string, stateKey: string, value: Uint8Array): boolean {
    if (service === STATE_TTL_SERVICE) return this.ttls.put(key, value);
    if (service === THROTTLE_KEY_COUNT.service) return true; // The invariants check it.
    if (service === THROTTLE_SERVICE) return this.throttle.put(key as InvocationId, value);
    const object = `${service}/${key}`;
    const state = this.#objects.get(object) ?? new Map<string, Uint8Array>();
    this.#objects.set(object, state);
    const text = fromUtf8(value);
    if (service === "O" && COUNTERS.has(stateKey) && !this.#restored.has(object)) {
      const before = Number(fromUtf8(state.get(stateKey) ?? new Uint8Array(0)) || "0");
      this.#findings.require(
        Number(text) === before + 1,
        "a counter rises by one each time",
        () => `${object} ${stateKey}: ${before}, then ${text}`,
      );
    }
    state.set(stateKey, value);
    return this.#meet(object, stateKey, text);
  }

  /** Deletes a state key. Returns whether a command of a handler in this batch requires it. */
  delete(service: string, key: string, stateKey: string): boolean {
    if (service === STATE_TTL_SERVICE) return this.ttls.deleted(key);
    if (service === THROTTLE_KEY_COUNT.service) return true;
    if (service === THROTTLE_SERVICE) return this.throttle.deleted(key as InvocationId);
    this.#objects.get(`${service}/${key}`)?.delete(stateKey);
    return this.#meet(`${service}/${key}`, stateKey, undefined);
  }

  #meet(object: string, key: string, value: string | undefined): boolean {
    const at = this.#demanded.findIndex((each) => each.object === object && each.key === key && each.value === value);
    if (at >= 0) this.#demanded.splice(at, 1);
    return at >= 0;
  }

  endOfBatch(): void {
    this.throttle.endOfBatch();
    for (const { object, key } of this.#demanded)
      this.#findings.report("a stored change of state is carried out", `${object} ${key}`);
    this.#demanded = [];
  }
}
