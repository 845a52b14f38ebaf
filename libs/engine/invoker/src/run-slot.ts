/** The slot of a run, from the wait for it to its release, and the wait of its stream for a connection. */
import type { InvocationId } from "@perdure/base";
import { SLOT_WAIT_STORED_MS } from "./limits.js";
import type { SlotWait } from "./ports.js";
import type { RunContext } from "./run-context.js";
import type { SlotUser } from "./slots.js";

export class RunSlot {
  readonly #user: SlotUser;
  readonly #context: RunContext;
  #isHeld = false;
  isWaiting = false;
  queuedAtMs = 0;
  /** Time since which the attempt waits for a connection that accepts its stream. */
  #streamWaitSinceMs: number | undefined;

  constructor(user: SlotUser, context: RunContext) {
    this.#user = user;
    this.#context = context;
  }

  get isStreamWaiting(): boolean {
    return this.#streamWaitSinceMs !== undefined;
  }

  /** The wait of the run for a slot, or of its attempt for a stream. */
  get wait(): SlotWait | undefined {
    const sinceMs = this.isWaiting ? this.queuedAtMs : this.#streamWaitSinceMs;
    if (sinceMs === undefined) return undefined;
    const { service, isContinuation } = this.#user;
    return { service, isContinuation, sinceMs };
  }

  acquire(): void {
    this.queuedAtMs = this.#context.clock.nowMs();
    this.isWaiting = true;
    this.#context.slots.acquire(this.#user);
  }

  /** Stores the wait when it was long enough to be worth its space. */
  granted(id: InvocationId, run: number): void {
    this.#isHeld = true;
    const { host, clock } = this.#context;
    const untilMs = clock.nowMs();
    if (untilMs - this.queuedAtMs < SLOT_WAIT_STORED_MS) return;
    host.submit({ kind: "slotWaited", id, run, sinceMs: this.queuedAtMs, untilMs });
  }

  /** The run waits no longer. */
  withdraw(): void {
    if (!this.isWaiting) return;
    this.isWaiting = false;
    this.#context.slots.withdraw(this.#user);
  }

  streamWaits(isWaiting: boolean): void {
    this.#streamWaitSinceMs = isWaiting ? this.#context.clock.nowMs() : undefined;
    this.#context.slots.streamWaits(this.#user, isWaiting);
  }

  streamClosed(): void {
    this.#streamWaitSinceMs = undefined;
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#context.slots.release(this.#user);
  }
}
