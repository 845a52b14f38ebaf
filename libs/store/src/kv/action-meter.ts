/**
 * Why: an environment pays for what it did (cloud.md §5.4), so what was done is counted where it becomes durable: the total is one
 * row of the very batch that holds the work. Whatever is killed, the total says what the store holds: no step twice, none missing.
 *
 *   !s   source: made once, with the data           !a   actions since then
 */
import { fromUtf8, utf8 } from "@perdure/base";
import type { Mutation } from "@perdure/partition";
import { actionsOf } from "../actions.js";
import { decodeNumber, encodeNumber } from "../codec/rows.js";
import type { KeyValue, RowBytes } from "./key-value.js";

/** Before all partitions, whose first char is a digit or behind it. */
export const SOURCE_KEY = "!s";
const ACTIONS_KEY = "!a";

/** Counts the starts of invocations and the steps of journals; commits of its store follow each other. */
export class ActionMeter {
  /** Of the data: another source begins at zero. */
  readonly source: string;
  #counted: number;
  #durable: number;

  private constructor(source: string, actions: number) {
    this.source = source;
    this.#counted = actions;
    this.#durable = actions;
  }

  /** `newSource` names data that has no name yet; that it has one is durable when this resolves. */
  static async open(kv: KeyValue, newSource: () => string): Promise<ActionMeter> {
    const stored = kv.get(SOURCE_KEY);
    const actions = kv.get(ACTIONS_KEY);
    if (stored !== undefined) return new ActionMeter(fromUtf8(stored), actions === undefined ? 0 : decodeNumber(actions));
    const source = newSource();
    await kv.write(new Map([[SOURCE_KEY, utf8(source)]]));
    return new ActionMeter(source, 0);
  }

  /** What is durable. */
  get actions(): number {
    return this.#durable;
  }

  /** Counts what a batch does, which `seal` and `settle` follow. */
  count(mutations: readonly Mutation[]): void {
    this.#counted += actionsOf(mutations);
  }

  /** The total goes with the batch, if it has changed. Answers what `settle` is told when the batch is durable. */
  seal(write: Map<string, RowBytes | null>): number {
    if (this.#counted !== this.#durable) write.set(ACTIONS_KEY, encodeNumber(this.#counted));
    return this.#counted;
  }

  markDurable(sealed: number): void {
    this.#durable = sealed;
  }
}
