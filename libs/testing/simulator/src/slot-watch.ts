/** The rule about slots: while all are used and a run waits for one, no handler that only waits keeps its stream for long. */
import type { Slots } from "@perdure/invoker";
import type { SimulatedTransport } from "./endpoint/transport.js";
import { BLOCKED_WITH_SLOT_MS_MAX } from "./limits.js";
import type { SimulatedWorld } from "./world.js";

export class SlotWatch {
  readonly #world: SimulatedWorld;
  readonly #name: string;
  readonly #slots: Slots;
  readonly #transport: SimulatedTransport;
  /** Time since which runs have waited without a free slot in between. */
  #fullSinceMs: number | undefined;

  constructor(world: SimulatedWorld, name: string, slots: Slots, transport: SimulatedTransport) {
    this.#world = world;
    this.#name = name;
    this.#slots = slots;
    this.#transport = transport;
  }

  check(): void {
    if (this.#slots.waiting === 0 || this.#slots.used < this.#slots.limit) {
      this.#fullSinceMs = undefined;
      return;
    }
    const nowMs = this.#world.scheduler.clock.monotonicMs();
    this.#fullSinceMs ??= nowMs;
    if (nowMs - this.#fullSinceMs <= BLOCKED_WITH_SLOT_MS_MAX) return;
    const blocked = this.#transport.blockedSince(nowMs - BLOCKED_WITH_SLOT_MS_MAX);
    this.#world.findings.require(
      blocked.length === 0,
      "a blocked handler leaves its slot to a run that waits",
      () => `${this.#name}: ${this.#slots.waiting} wait while ${blocked.join()} only wait`,
    );
  }
}
