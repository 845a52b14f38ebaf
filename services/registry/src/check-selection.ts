/**
 * Selects the invocations of a check: there may be millions of invocations and time for a few hundred replays. Of each handler it takes
 * those that new code would run first: in flight on the code that it replaces, then in flight elsewhere, then the ones completed last.
 */
import type { Clock } from "@perdure/base";
import type { CheckBounds } from "@perdure/metadata";
import type { Invocation, InvocationFacts, Pinned } from "@perdure/state-machine";
import type { CheckedStore } from "./check-ports.js";
import { CHECK_SCAN_SHARE, CHECKED_HANDLERS_MAX, SCANNED_PER_TURN } from "./limits.js";

/** The part of an invocation that is kept until its replay. */
export interface ChosenInvocation {
  readonly facts: InvocationFacts;
  readonly pinned: Pinned;
  readonly status: Invocation["status"];
  readonly journalLength: number;
  readonly lastStoredAtMs: number;
}

export interface SelectionCriteria {
  /** Undefined: the candidate does not have the handler. */
  rankOf(facts: InvocationFacts, pinned: Pinned): number | undefined;
  /** Whether an invocation in flight with this status counts. */
  isMeant(status: Invocation["status"]): boolean;
  readonly bounds: CheckBounds;
}

interface CheckSelection {
  /** Handlers take turns, invocations in flight first. */
  readonly chosen: readonly ChosenInvocation[];
  readonly matchCount: number;
  /** Every invocation in flight is among `chosen`, and the whole store was read. */
  readonly isComplete: boolean;
}

/** Reads until its share of the time has passed. Rejects when the store fails or the signal is aborted. */
export async function select(
  { store, partitionCount }: { readonly store: CheckedStore; readonly partitionCount: number },
  criteria: SelectionCriteria,
  clock: Clock,
  signal: AbortSignal,
): Promise<CheckSelection> {
  const { bounds } = criteria;
  const untilMs = clock.monotonicMs() + bounds.timeoutMs * CHECK_SCAN_SHARE;
  const inFlight = new HandlerRanking(bounds.inFlightPerHandler);
  const completed = new HandlerRanking(bounds.completedPerHandler);
  let scannedCount = 0;
  let isInTime = true;

  async function scan(rows: AsyncIterable<Invocation>, into: HandlerRanking): Promise<void> {
    for await (const invocation of rows) {
      if (++scannedCount % SCANNED_PER_TURN === 0) {
        await new Promise<void>((resolve) => void setImmediate(resolve));
        signal.throwIfAborted();
        isInTime = clock.monotonicMs() < untilMs;
      }
      if (!isInTime) return;
      const { facts, pinned, journal, status } = invocation;
      if (pinned === undefined || journal.length === 0) continue; // The invocation starts at the beginning on any deployment.
      if (into === inFlight && !criteria.isMeant(status)) continue;
      const rank = criteria.rankOf(facts, pinned);
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
  return { chosen, matchCount: inFlight.matchCount + completed.matchCount, isComplete };
}

/** Keeps no reference to large values: neither the outcome nor the row that contained it. */
function chosenOf({ facts, journal, modifiedAtMs, status }: Invocation, pinned: Pinned): ChosenInvocation {
  return {
    facts: { ...facts, bytes: undefined },
    pinned,
    status,
    journalLength: journal.length,
    lastStoredAtMs: modifiedAtMs,
  };
}

/** The best few invocations of each handler. */
class HandlerRanking {
  matchCount = 0;
  /** Number of invocations that were found and not kept. */
  left = 0;
  readonly #perHandler: number;
  readonly #handlers = new Map<string, { readonly rank: number; readonly chosen: ChosenInvocation }[]>();

  constructor(perHandler: number) {
    this.#perHandler = perHandler;
  }

  get size(): number {
    return this.matchCount - this.left;
  }

  add(rank: number, chosen: ChosenInvocation): void {
    this.matchCount++;
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

  *inTurns(): Iterable<ChosenInvocation> {
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

function isBefore(
  rank: number,
  chosen: ChosenInvocation,
  other: { readonly rank: number; readonly chosen: ChosenInvocation },
): boolean {
  return rank < other.rank || (rank === other.rank && chosen.lastStoredAtMs > other.chosen.lastStoredAtMs);
}
