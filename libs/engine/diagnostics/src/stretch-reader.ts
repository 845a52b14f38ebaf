/** Reads what an invocation did as stretches of time: when it ran, was suspended, backed off or was paused, and the gaps between. */
import type { AttemptError, Move, MoveState } from "@perdure/state-machine";
import type { TimelineAttempt } from "./phases.js";

// ── signs of activity ────────────────────────────────────────────────────────────────────────────

/**
 * A stored time. `act`: the handler produced a command · `notification`: a notification arrived for it · the others are events beside the journal.
 */
export interface Sign {
  readonly kind: "act" | "notification" | "failed" | "paused";
  readonly atMs: number;
  readonly failure: AttemptError | undefined;
}

/** Longest delay between the partition and the invoker. */
const HANDOVER_MS = 100;

/** Within one millisecond: notifications precede the move to running, commands follow it, and a stop follows all signs. */
export function isBefore({ state, atMs }: Move, sign: Sign): boolean {
  if (atMs !== sign.atMs) return atMs < sign.atMs;
  return (state === "running" || state === "slot") && (sign.kind === "act" || sign.kind === "failed");
}

/** Outcome of the attempt when the handler ran before the move. */
const ENDING_OF_MOVE: Readonly<Record<MoveState, TimelineAttempt["outcome"]>> = {
  running: "suspended", // A suspension whose notification was already there.
  suspended: "suspended",
  slot: "interrupted",
  paused: "paused",
};

/** A stretch of time in one state. A running stretch may contain gaps that ended with a notification. */
export interface Stretch {
  readonly state: "running" | "backingOff" | "paused" | "suspended" | "slot";
  readonly fromMs: number;
  toMs: number;
  endIsExact: boolean;
  /** False: an attempt without any other sign than its failure ran within the stretch. */
  isSure: boolean;
  readonly gaps: Gap[];
  ending: TimelineAttempt["outcome"];
  failure: AttemptError | undefined;
}

/** The handler produced nothing from `fromMs` on, until a notification arrived at `toMs`. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Converts signs, in order, into stretches. */
export class StretchReader {
  readonly stretches: Stretch[] = [];
  /** Failed attempts without any other sign: only their end is stored. */
  readonly silentFailures: { readonly atMs: number; readonly failure: AttemptError | undefined }[] = [];
  #open: Stretch;
  #lastActMs: number;
  #lastChangeMs: number | undefined;
  /** Pauses that ended, in the part of the history without moves. */
  resumedPauses = 0;
  /** A move has been read: from there on the stored moves are complete. */
  #isNoted = false;

  constructor(begunMs: number) {
    this.#open = stretch("running", begunMs);
    this.#lastActMs = begunMs;
  }

  get state(): Stretch["state"] {
    return this.#open.state;
  }

  get isNoted(): boolean {
    return this.#isNoted;
  }

  get lastActMs(): number {
    return this.#lastActMs;
  }

  get lastChangeMs(): number | undefined {
    return this.#lastChangeMs;
  }

  move({ state, atMs }: Move): void {
    if (this.state === "backingOff" && state !== "slot") this.doubt(); // The state was left without a sign in between: an attempt ran before the move.
    if (this.state !== state || state === "running") this.enter(state, atMs, true, ENDING_OF_MOVE[state], undefined);
    this.#isNoted = true;
  }

  see({ kind, atMs, failure }: Sign): void {
    if (this.#isNoted && this.state !== "running" && this.state !== "backingOff" && kind !== "failed") return;
    switch (kind) {
      case "act":
        if (this.state !== "running") this.enter("running", atMs, false, "interrupted", undefined);
        else this.#closeGap();
        this.#lastActMs = Math.max(this.#lastActMs, atMs);
        return;
      case "notification":
        if (this.state === "running") this.#lastChangeMs = atMs;
        return;
      case "failed":
        if (this.state === "running") this.enter("backingOff", atMs, true, "failed", failure);
        else {
          this.silentFailures.push({ atMs, failure });
          this.doubt();
          this.enter("backingOff", atMs, true, "failed", failure);
        }
        return;
      case "paused":
        // In events of earlier versions a pause requested during a back-off repeats the last failure and replaces it.
        if (this.state === "backingOff" && this.#open.fromMs === atMs) this.stretches.at(-1)!.isSure = false;
        if (this.state !== "paused") this.enter("paused", atMs, true, "paused", undefined);
        return;
    }
  }

  /** Ends the current stretch and begins another. `ending` is the outcome of the attempt when the current stretch is a running one. */
  enter(
    state: Stretch["state"],
    atMs: number,
    isExact: boolean,
    ending: TimelineAttempt["outcome"],
    failure: AttemptError | undefined,
  ): void {
    if (this.state === "running") this.#closeGap();
    if (this.state === "paused" && !this.#isNoted) this.resumedPauses++;
    const open = this.#open;
    open.toMs = Math.max(atMs, open.fromMs);
    open.endIsExact = isExact;
    open.ending = ending;
    open.failure = failure;
    this.stretches.push(open);
    this.#open = stretch(state, open.toMs);
    this.#lastActMs = open.toMs;
    this.#lastChangeMs = undefined;
  }

  /** Ends the last stretch; no sign may follow. */
  end(atMs: number, ending: TimelineAttempt["outcome"]): void {
    if (this.state === "running" && ending !== "running") this.#closeGap();
    const open = this.#open;
    open.toMs = Math.max(atMs, open.fromMs);
    open.endIsExact = true;
    open.ending = ending;
    this.stretches.push(open);
  }

  /**
   * The present attempt began at `atMs` and runs since: it was never suspended, and everything before belongs to another attempt. When it
   * began within `HANDOVER_MS` of the handover, it is the same one.
   */
  begunAnew(atMs: number): void {
    const before = this.#open;
    if (atMs - before.fromMs <= HANDOVER_MS) return;
    if (atMs > this.#lastActMs && !this.#isNoted) before.gaps.push({ fromMs: this.#lastActMs, toMs: atMs });
    const gaps = before.gaps.splice(0).filter(({ fromMs }) => fromMs < atMs);
    for (const { fromMs, toMs } of gaps) before.gaps.push({ fromMs, toMs: Math.min(toMs, atMs) });
    before.toMs = atMs;
    before.ending = "interrupted";
    this.stretches.push(before);
    this.#open = stretch("running", atMs);
    this.#lastActMs = Math.max(this.#lastActMs, atMs);
    this.#lastChangeMs = undefined;
  }

  /** Marks the current stretch as uncertain: another attempt may have run in it. */
  doubt(): void {
    this.#open.isSure = false;
  }

  #closeGap(): void {
    const to = this.#lastChangeMs;
    if (to !== undefined && to > this.#lastActMs && !this.#isNoted) this.#open.gaps.push({ fromMs: this.#lastActMs, toMs: to });
    this.#lastChangeMs = undefined;
  }
}

function stretch(state: Stretch["state"], fromMs: number): Stretch {
  return { state, fromMs, toMs: fromMs, endIsExact: true, isSure: true, gaps: [], ending: "running", failure: undefined };
}
