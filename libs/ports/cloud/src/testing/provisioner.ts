/** A Provisioner in memory: keeps the desired runtimes, and reports the states that a test sets. */
import type { DesiredRuntime, EnvironmentId, Provisioner, RuntimeState, Upstream } from "../index.js";

export class MemoryProvisioner implements Provisioner {
  /** The last desired state of each environment that has a runtime. */
  readonly desired = new Map<EnvironmentId, DesiredRuntime>();
  /** Every removal, in order. */
  readonly removed: { readonly environmentId: EnvironmentId; readonly erase: boolean }[] = [];
  /** Called with every accepted desired state; may call `ready` or `fail` to answer at once. */
  onApply: (desired: DesiredRuntime) => void = () => undefined;
  /** Error with which `apply` and `remove` reject while it is set. */
  failure: Error | undefined;
  readonly #states = new Map<EnvironmentId, RuntimeState>();
  readonly #listeners = new Set<(environmentId: EnvironmentId, state: RuntimeState | undefined) => void>();

  async apply(desired: DesiredRuntime): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    const existing = this.desired.get(desired.environmentId);
    if (existing !== undefined && existing.generation >= desired.generation) return;
    this.desired.set(desired.environmentId, desired);
    this.become(desired.environmentId, { phase: "starting", generation: desired.generation });
    this.onApply(desired);
  }

  async remove(environmentId: EnvironmentId, { erase }: { readonly erase: boolean }): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    this.removed.push({ environmentId, erase });
    this.desired.delete(environmentId);
    this.become(environmentId, undefined);
  }

  state(environmentId: EnvironmentId): RuntimeState | undefined {
    return this.#states.get(environmentId);
  }

  onChange(listener: (environmentId: EnvironmentId, state: RuntimeState | undefined) => void): void {
    this.#listeners.add(listener);
  }

  /** Reports the runtime of the last desired state as ready. */
  ready(environmentId: EnvironmentId, upstream: Upstream): void {
    this.become(environmentId, { phase: "ready", generation: this.#generation(environmentId), upstream });
  }

  /** Reports the runtime of the last desired state as failed. */
  fail(environmentId: EnvironmentId, reason: string): void {
    this.become(environmentId, { phase: "failed", generation: this.#generation(environmentId), reason });
  }

  become(environmentId: EnvironmentId, state: RuntimeState | undefined): void {
    if (state === undefined) this.#states.delete(environmentId);
    else this.#states.set(environmentId, state);
    for (const listener of this.#listeners) listener(environmentId, state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
  }

  #generation(environmentId: EnvironmentId): number {
    return this.desired.get(environmentId)?.generation ?? 0;
  }
}
