/**
 * Counts the invocations of a partition by status for metrics while commands are applied: one addition for each status change, which is
 * undone with the command when that has to be applied again.
 */
import { unreachable } from "@perdure/base";
import type { Invocation } from "@perdure/state-machine";
import type { Population } from "@perdure/storage";

type CountedStatus = Invocation["status"];

/** Indexes of the arrays below; completed invocations are not reported, but have an index so that no update needs a condition. */
const NAMES = ["scheduled", "inboxed", "invoked", "suspended", "ready", "paused", "timers", "completed"] as const;
const TIMERS = 6;
const COMPLETED = 7;

function placeOf(status: CountedStatus): number {
  switch (status) {
    case "scheduled":
      return 0;
    case "inboxed":
      return 1;
    case "invoked":
      return 2;
    case "suspended":
      return 3;
    case "ready":
      return 4;
    case "paused":
      return 5;
    case "completed":
      return COMPLETED;
    default:
      return unreachable(status);
  }
}

export class PopulationCounters {
  readonly #counts = new Int32Array(NAMES.length);
  /** Changes by the present command. */
  readonly #moved = new Int32Array(NAMES.length);
  #isMoved = false;

  /** Adds the counts of what was stored when the leader took over the partition. */
  begin(counted: Population): void {
    for (const [place, name] of NAMES.entries()) if (name !== "completed") this.#counts[place]! += counted[name];
  }

  /** `from` is undefined for an invocation that is new. */
  move(from: CountedStatus | undefined, to: CountedStatus): void {
    if (from === to) return;
    if (from !== undefined) this.#moved[placeOf(from)]!--;
    this.#moved[placeOf(to)]!++;
    this.#isMoved = true;
  }

  timers(change: 1 | -1): void {
    this.#moved[TIMERS]! += change;
    this.#isMoved = true;
  }

  accept(): void {
    if (!this.#isMoved) return;
    for (let place = 0; place < NAMES.length; place++) this.#counts[place]! += this.#moved[place]!;
    this.takeBack();
  }

  takeBack(): void {
    this.#isMoved = false;
    this.#moved.fill(0);
  }

  addTo(all: Population): void {
    for (const [place, name] of NAMES.entries()) if (name !== "completed") all[name] += this.#counts[place]!;
  }
}
