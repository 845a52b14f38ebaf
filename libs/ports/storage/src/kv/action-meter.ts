/**
 * Counts the billed actions of an environment (cloud.md §5.4) where they become durable: the total is one row of the same batch that
 * holds the work. After any crash the total matches what the store holds: no step counts twice and none is missing.
 *
 *     !s   source: created once, with the data        !a   number of actions since then
 *
 * Each of several writers has a row of its own, `!a`, `!a1`, `!a2` …, and the sum is the total. Writer 0 adds the others to `!a` when it
 * opens the data, and when it closes them: then another number of writers is right, and so are versions without such rows.
 */
import { fromUtf8, present, utf8 } from "@perdure/base";
import type { Mutation } from "@perdure/state-machine";
import { actionsOf } from "../actions.js";
import { decodeNumber, encodeNumber } from "../codec/rows.js";
import type { ActionTotals } from "./action-totals.js";
import type { KeyValue, RowBytes } from "./key-value.js";

/** Sorts before all partitions, whose first char is a digit or greater. */
export const SOURCE_KEY = "!s";
const ACTIONS_KEY = "!a";
const ACTIONS_END = "!b";

/** Counts the starts of invocations and the steps of journals. Commits of its store must follow each other. */
export class ActionMeter {
  /** Identifies the data: another source begins at zero. */
  readonly source: string;
  readonly #writer: number;
  /** Undefined when there is one writer. */
  readonly #totals: ActionTotals | undefined;
  #counted: number;
  #durable: number;

  private constructor(source: string, writer: number, actions: number, totals: ActionTotals | undefined) {
    this.source = source;
    this.#writer = writer;
    this.#totals = totals;
    this.#counted = actions;
    this.#durable = actions;
    totals?.set(writer, actions);
  }

  /**
   * The meter of writer 0, opened before other writers write. `newSource` returns a name for data that have none yet; the name is durable
   * when this resolves. `totals`: those of all writers when there are several.
   */
  static async open(kv: KeyValue, newSource: () => string, totals?: ActionTotals): Promise<ActionMeter> {
    const stored = kv.get(SOURCE_KEY);
    const source = stored === undefined ? newSource() : fromUtf8(stored);
    if (stored === undefined) await kv.write(new Map([[SOURCE_KEY, utf8(source)]]));
    return new ActionMeter(source, 0, await foldActions(kv), totals);
  }

  /** The meter of another writer, whose batches `kv` writes. */
  static openBeside(kv: KeyValue, writer: number, totals: ActionTotals): ActionMeter {
    const source = fromUtf8(present(kv.get(SOURCE_KEY)));
    const actions = kv.get(keyOf(writer));
    totals.setOpen(writer, true);
    return new ActionMeter(source, writer, actions === undefined ? 0 : decodeNumber(actions), totals);
  }

  /** The number of durable actions of all writers. */
  get actions(): number {
    return this.#totals === undefined ? this.#durable : this.#totals.actions;
  }

  /** Counts the actions of a batch; call `seal` and `settle` afterwards. */
  count(mutations: readonly Mutation[]): void {
    this.#counted += actionsOf(mutations);
  }

  /** Adds the total to the batch if it has changed. Returns the value to pass to `settle` when the batch is durable. */
  seal(write: Map<string, RowBytes | null>): number {
    if (this.#counted !== this.#durable) write.set(keyOf(this.#writer), encodeNumber(this.#counted));
    return this.#counted;
  }

  markDurable(sealed: number): void {
    this.#durable = sealed;
    this.#totals?.set(this.#writer, sealed);
  }

  /** Call it when nothing is written any more, before `kv` is closed. */
  async beforeClose(kv: KeyValue): Promise<void> {
    // A writer that has not closed, because its thread crashed, may still have a batch under way.
    if (this.#writer > 0 || this.#totals === undefined || this.#totals.areOthersOpen) return;
    await foldActions(kv).catch(() => undefined); // The next start does it.
  }

  /** Call it when the engine is closed. */
  afterClose(): void {
    this.#totals?.setOpen(this.#writer, false);
  }
}

const keyOf = (writer: number): string => (writer === 0 ? ACTIONS_KEY : `${ACTIONS_KEY}${writer}`);

/** Replaces the rows of all writers by one; returns the sum. */
async function foldActions(kv: KeyValue): Promise<number> {
  const folded = new Map<string, RowBytes | null>();
  let actions = 0;
  for await (const [key, row] of kv.scan(ACTIONS_KEY, ACTIONS_END)) {
    actions += decodeNumber(row);
    if (key !== ACTIONS_KEY) folded.set(key, null);
  }
  if (folded.size > 0) await kv.write(folded.set(ACTIONS_KEY, encodeNumber(actions)));
  return actions;
}
