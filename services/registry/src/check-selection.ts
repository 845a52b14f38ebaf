/**
 * Why: there may be millions of invocations and time for a few hundred replays. Of each handler those are chosen that new code would meet
 * first: in flight on the code that it replaces, then in flight elsewhere, then the ones completed last.
 */
import type { Clock } from "@perdure/base";
import type { CheckBounds } from "@perdure/metadata";
import type { Invocation, InvocationFacts, Pinned } from "@perdure/partition";
import type { CheckedStore } from "./check-ports.js";
import { CHECK_SCAN_SHARE, CHECKED_HANDLERS_MAX, SCANNED_PER_TURN } from "./limits.js";

/** What is kept of an invocation until its turn comes. */
export interface Chosen {
  readonly facts: InvocationFacts;
  readonly pinned: Pinned;
  readonly status: Invocation["status"];
  readonly journalLength: number;
  readonly lastStoredAtMs: number;
}

export interface Wanted {
  /** Undefined: the handler is none of the candidate's business. */
  rankOf(facts: InvocationFacts, pinned: Pinned): number | undefined;
  /** Which of those in flight count. */
  isMeant(status: Invocation["status"]): boolean;
  readonly bounds: CheckBounds;
}

export interface Selection {
  /** Handlers take turns, those in flight first. */
  readonly chosen: readonly Chosen[];
  readonly found: number;
  /** Every invocation in flight that was found is among `chosen`, and all were looked at. */
  readonly isComplete: boolean;
}

/** Reads until a share of the time is over. Rejects when the store fails or the signal is aborted. */
export async function select(
  { store, partitionCount }: { readonly store: CheckedStore; readonly partitionCount: number },
  wanted: Wanted,
  clock: Clock,
  signal: AbortSignal,
): Promise<Selection> {
  const { bounds } = wanted;
  const untilMs = clock.monotonicMs() + bounds.timeoutMs * CHECK_SCAN_SHARE;
  const inFlight = new Choice(bounds.inFlightPerHandler);
  const completed = new Choice(bounds.completedPerHandler);
  let seen = 0;
  let isInTime = true;

  async function scan(rows: AsyncIterable<Invocation>, into: Choice): Promise<void> {
    for await (const invocation of rows) {
      if (++seen % SCANNED_PER_TURN === 0) {
        await new Promise<void>((resolve) => void setImmediate(resolve));
        signal.throwIfAborted();
        isInTime = clock.monotonicMs() < untilMs;
      }
      if (!isInTime) return;
      const { facts, pinned, journal, status } = invocation;
      if (pinned === undefined || journal.length === 0) continue; // It begins anew wherever it begins.
      if (into === inFlight && !wanted.isMeant(status)) continue;
      const rank = wanted.rankOf(facts, pinned);
      if (rank !== undefined) into.add(rank, chosenOf(invocation, pinned));
    }
  }

  for (let partition = 0; partition < partitionCount && isInTime; partition++) {
    await scan(store.unfinished(partition, undefined), inFlight);
  }
  const sawAll = isInTime;
  if (bounds.completedPerHandler > 0) {
    for (let partition = 0; partition < partitionCount && isInTime; partition++)
      await scan(store.completed(partition), completed);
  }
  const all = [...inFlight.inTurns(), ...completed.inTurns()];
  const chosen = all.slice(0, bounds.invocations);
  const isComplete = sawAll && inFlight.left === 0 && inFlight.size <= bounds.invocations;
  return { chosen, found: inFlight.found + completed.found, isComplete };
}

/** Nothing large is kept alive: neither the outcome nor the row it came in. */
function chosenOf({ facts, journal, modifiedAtMs, status }: Invocation, pinned: Pinned): Chosen {
  return {
    facts: { ...facts, bytes: undefined },
    pinned,
    status,
    journalLength: journal.length,
    lastStoredAtMs: modifiedAtMs,
  };
}

/** The best few of each handler. */
class Choice {
  found = 0;
  /** Found and not kept. */
  left = 0;
  readonly #perHandler: number;
  readonly #handlers = new Map<string, { readonly rank: number; readonly chosen: Chosen }[]>();

  constructor(perHandler: number) {
    this.#perHandler = perHandler;
  }

  get size(): number {
    return this.found - this.left;
  }

  add(rank: number, chosen: Chosen): void {
    this.found++;
    const { service, handler } = chosen.facts.target;
    const name = `${service}/${handler}`;
    let best = this.#handlers.get(name);
    if (best === undefined) {
      best = [];
      if (this.#handlers.size < CHECKED_HANDLERS_MAX) this.#handlers.set(name, best);
    }
    let at = best.length;
    while (at > 0 && isBefore(rank, chosen, best[at - 1]!)) at--;
    best.splice(at, 0, { rank, chosen });
    if (best.length > this.#perHandler || !this.#handlers.has(name)) {
      best.pop();
      this.left++;
    }
  }

  *inTurns(): Iterable<Chosen> {
    for (let turn = 0, any = true; any; turn++) {
      any = false;
      for (const best of this.#handlers.values()) {
        const next = best[turn];
        if (next === undefined) continue;
        any = true;
        yield next.chosen;
      }
    }
  }
}

function isBefore(rank: number, chosen: Chosen, other: { readonly rank: number; readonly chosen: Chosen }): boolean {
  return rank < other.rank || (rank === other.rank && chosen.lastStoredAtMs > other.chosen.lastStoredAtMs);
}
