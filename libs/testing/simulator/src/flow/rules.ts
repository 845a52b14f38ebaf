/** The rules of a world, which change while invocations wait and run; all readers get the same rules at the same moment. */
import type { FlowRule } from "@perdure/flow-control";

const NO_RULES: readonly FlowRule[] = [];

export class SimulatedRules {
  #rules: readonly FlowRule[] = NO_RULES;
  readonly #listeners = new Set<() => void>();

  current(): readonly FlowRule[] {
    return this.#rules;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  change(rules: readonly FlowRule[]): void {
    this.#rules = rules;
    for (const listener of this.#listeners) listener();
  }
}
