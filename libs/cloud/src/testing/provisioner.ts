/** A Provisioner in memory: remembers what is wanted, and is in the states that a test gives it. */
import type { EnvironmentId, Provisioner, RuntimeState, Upstream, WantedRuntime } from "../index.js";

export class MemoryProvisioner implements Provisioner {
  /** The last wish for each environment that has a runtime. */
  readonly wanted = new Map<EnvironmentId, WantedRuntime>();
  /** Every removal, in order. */
  readonly removed: { readonly environmentId: EnvironmentId; readonly erase: boolean }[] = [];
  /** Called with every wish that is taken; `settle` in it answers at once. */
  onApply: (wanted: WantedRuntime) => void = () => undefined;
  /** While set, `apply` and `remove` reject with it. */
  failure: Error | undefined;
  readonly #states = new Map<EnvironmentId, RuntimeState>();
  readonly #listeners = new Set<(environmentId: EnvironmentId, state: RuntimeState | undefined) => void>();

  async apply(wanted: WantedRuntime): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    const known = this.wanted.get(wanted.environmentId);
    if (known !== undefined && known.generation >= wanted.generation) return;
    this.wanted.set(wanted.environmentId, wanted);
    this.become(wanted.environmentId, { phase: "starting", generation: wanted.generation });
    this.onApply(wanted);
  }

  async remove(environmentId: EnvironmentId, { erase }: { readonly erase: boolean }): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    this.removed.push({ environmentId, erase });
    this.wanted.delete(environmentId);
    this.become(environmentId, undefined);
  }

  state(environmentId: EnvironmentId): RuntimeState | undefined {
    return this.#states.get(environmentId);
  }

  onChange(listener: (environmentId: EnvironmentId, state: RuntimeState | undefined) => void): void {
    this.#listeners.add(listener);
  }

  /** The runtime of the last wish answers from now on. */
  ready(environmentId: EnvironmentId, upstream: Upstream): void {
    this.become(environmentId, { phase: "ready", generation: this.#generation(environmentId), upstream });
  }

  /** The runtime of the last wish could not be started. */
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
    return this.wanted.get(environmentId)?.generation ?? 0;
  }
}
