/**
 * Counts the billed actions of an environment (cloud.md §5.4) where they become durable: the total is one row of the same batch that
 * holds the work. After any crash the total matches what the store holds: no step counts twice and none is missing.
 *
 *     !s   source: created once, with the data        !a   number of actions since then
 */
import { fromUtf8, utf8 } from "@perdure/base";
import type { Mutation } from "@perdure/state-machine";
import { actionsOf } from "../actions.js";
import { decodeNumber, encodeNumber } from "../codec/rows.js";
import type { KeyValue, RowBytes } from "./key-value.js";

/** Sorts before all partitions, whose first char is a digit or greater. */
export const SOURCE_KEY = "!s";
const ACTIONS_KEY = "!a";

/** Counts the starts of invocations and the steps of journals. Commits of its store must follow each other. */
export class ActionMeter {
  /** Identifies the data: another source begins at zero. */
  readonly source: string;
  #counted: number;
  #durable: number;

  private constructor(source: string, actions: number) {
    this.source = source;
    this.#counted = actions;
    this.#durable = actions;
  }

  /** `newSource` returns a name for data that have none yet; the name is durable when this resolves. */
  static async open(kv: KeyValue, newSource: () => string): Promise<ActionMeter> {
    const stored = kv.get(SOURCE_KEY);
    const actions = kv.get(ACTIONS_KEY);
    if (stored !== undefined) return new ActionMeter(fromUtf8(stored), actions === undefined ? 0 : decodeNumber(actions));
    const source = newSource();
    await kv.write(new Map([[SOURCE_KEY, utf8(source)]]));
    return new ActionMeter(source, 0);
  }

  /** The number of durable actions. */
  get actions(): number {
    return this.#durable;
  }

  /** Counts the actions of a batch; call `seal` and `settle` afterwards. */
  count(mutations: readonly Mutation[]): void {
    this.#counted += actionsOf(mutations);
  }

  /** Adds the total to the batch if it has changed. Returns the value to pass to `settle` when the batch is durable. */
  seal(write: Map<string, RowBytes | null>): number {
    if (this.#counted !== this.#durable) write.set(ACTIONS_KEY, encodeNumber(this.#counted));
    return this.#counted;
  }

  markDurable(sealed: number): void {
    this.#durable = sealed;
  }
}
