/**
 * Rules about debounced requests: each belongs to one burst, a burst is one invocation that starts with the input of its newest request,
 * and nothing of a key is left when its invocations are deleted.
 */
import { bytesEqual, fromUtf8, type InvocationId } from "@perdure/base";
import type { Invocation, Invoke } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import type { GenerationRecord } from "../ledger/generation-record.js";

export class DebounceModel {
  readonly #findings: SimulationFindings;
  readonly #generation: (id: InvocationId) => GenerationRecord | undefined;
  readonly #inputs = new Map<number, Uint8Array>();
  /** The invocation of each request that was accepted. */
  readonly #burstOf = new Map<number, InvocationId>();
  readonly #newest = new Map<InvocationId, number>();
  readonly #newestCreatedAtMs = new Map<InvocationId, number>();
  /** Keys that have a row. */
  readonly #rows = new Set<string>();

  constructor(findings: SimulationFindings, generation: (id: InvocationId) => GenerationRecord | undefined) {
    this.#findings = findings;
    this.#generation = generation;
  }

  /** A caller is about to send the request, perhaps again. */
  sent({ facts, input }: Invoke): void {
    if (facts.debounce !== undefined) this.#inputs.set(facts.requestId, input);
  }

  put(key: string, row: Uint8Array): void {
    this.#rows.add(key);
    const [newestCreatedAtMs, ...bursts] = fromUtf8(row).split("|");
    for (const [n, burst] of bursts.entries()) {
      const [id, ...requestIds] = burst.split(" ") as [InvocationId, ...string[]];
      for (const requestId of requestIds) this.#belongs(Number(requestId), id);
      if (n > 0) continue;
      this.#newest.set(id, Number(requestIds.at(-1)));
      this.#newestCreatedAtMs.set(id, Number(newestCreatedAtMs));
    }
  }

  #belongs(requestId: number, id: InvocationId): void {
    const before = this.#burstOf.get(requestId);
    const isOver = before === undefined || this.#generation(before) === undefined;
    this.#findings.require(
      before === id || isOver,
      "a debounced request belongs to one burst",
      () => `${requestId} of ${before}, then of ${id}`,
    );
    this.#burstOf.set(requestId, id);
  }

  deleted(key: string): void {
    this.#rows.delete(key);
  }

  /** The invocation begins: its input is fixed from now on. */
  begins({ id, entries }: GenerationRecord, { facts }: Invocation): void {
    if (facts.debounce === undefined) return;
    const input = this.#inputs.get(this.#newest.get(id) ?? 0);
    const body = entries[0]?.body;
    const isNewest = input !== undefined && body !== undefined && bytesEqual(input, body);
    this.#findings.require(isNewest, "a burst starts with its newest input", () => `${id} after ${facts.debounce?.sendCount}`);
  }

  /**
   * A caller gets the id of the invocation that its request became. A request that is sent again may be older than the newest one of its key
   * by then: it gets the id of the last burst, and its input is not used a second time, or not at all if it was lost.
   */
  accepted({ facts }: Invoke, id: InvocationId): void {
    if (facts.debounce === undefined) return;
    const burst = this.#burstOf.get(facts.requestId);
    const isSuperseded = facts.createdAtMs <= (this.#newestCreatedAtMs.get(id) ?? 0);
    this.#findings.require(
      burst === id || isSuperseded,
      "a caller gets the id of its burst",
      () => `${facts.requestId}: ${id}, not ${burst}`,
    );
  }

  /** All retention is over. */
  retentionIsOver(): void {
    this.#findings.require(this.#rows.size === 0, "expired rows are deleted", () => `debounce keys ${[...this.#rows].join()}`);
  }
}
