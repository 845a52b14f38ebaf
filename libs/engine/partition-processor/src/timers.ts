/**
 * Fires timers, which the store keeps in the order of their due time; memory holds only the earliest due time of each partition. At
 * that time, due timers are read a page at a time, so a hundred thousand sleeping invocations cost no memory and wake in order.
 */
import type { Clock, TimerHandle } from "@perdure/base";
import type { TimerKey } from "@perdure/state-machine";
import { type AnyPartitionStore, type TimerGroup, timerGroupOf } from "@perdure/storage";
import { TIMER_PAGE } from "./limits.js";
import type { ProcessorMetrics } from "./ports.js";

const NEVER = Number.POSITIVE_INFINITY;

export interface TimerPorts {
  readonly store: AnyPartitionStore;
  readonly clock: Clock;
  /** Submits the firing; `done` is called when it is durable (the timer is deleted from the store). */
  readonly fire: (timer: TimerKey, done: () => void) => void;
  readonly onError: (cause: unknown) => void;
  /** Not called for retention timers, since no caller waits for them. */
  readonly metrics?: Pick<ProcessorMetrics, "timerFired"> | undefined;
}

export class Timers {
  readonly #ports: TimerPorts;
  readonly #partitions: readonly number[];
  readonly #cleanupIntervalMs: number;
  /** Earliest stored due time per partition and group. */
  readonly #next: Record<TimerGroup, Map<number, number>> = { precise: new Map(), retention: new Map() };
  #armed: TimerHandle | undefined;
  #armedFor = NEVER;
  #cleanup: TimerHandle | undefined;
  #working = false;
  #stopped = false;

  constructor(ports: TimerPorts, partitions: readonly number[], cleanupIntervalMs: number) {
    this.#ports = ports;
    this.#partitions = partitions;
    this.#cleanupIntervalMs = cleanupIntervalMs;
  }

  /** Reads the earliest stored timers. */
  async start(): Promise<void> {
    for (const group of ["precise", "retention"] as const) {
      for (const partition of this.#partitions) {
        const [first] = await this.#ports.store.timers(partition, group, 0, 1);
        if (first !== undefined) this.#lower(group, partition, first.dueAtMs);
      }
    }
    this.#rearm();
    this.#scheduleCleanup();
  }

  /** Registers a timer that was stored. */
  arm(partition: number, timer: TimerKey): void {
    const group = timerGroupOf(timer);
    this.#lower(group, partition, timer.dueAtMs);
    if (group === "precise") this.#rearm();
  }

  stop(): void {
    this.#stopped = true;
    this.#armed?.cancel();
    this.#cleanup?.cancel();
  }

  #lower(group: TimerGroup, partition: number, dueAtMs: number): void {
    const next = this.#next[group];
    if (dueAtMs < (next.get(partition) ?? NEVER)) next.set(partition, dueAtMs);
  }

  #rearm(): void {
    if (this.#stopped || this.#working) return;
    let earliest = NEVER;
    for (const dueAtMs of this.#next.precise.values()) if (dueAtMs < earliest) earliest = dueAtMs;
    if (earliest === this.#armedFor) return;
    this.#armed?.cancel();
    this.#armed = undefined;
    this.#armedFor = earliest;
    if (earliest === NEVER) return;
    this.#armed = this.#ports.clock.setTimer(Math.max(0, earliest - this.#ports.clock.nowMs()), () => {
      this.#armed = undefined;
      this.#armedFor = NEVER;
      this.#work("precise");
    });
  }

  #scheduleCleanup(): void {
    if (this.#stopped) return;
    this.#cleanup = this.#ports.clock.setTimer(this.#cleanupIntervalMs, () => {
      this.#drain("retention").then(
        () => this.#scheduleCleanup(),
        (cause: unknown) => this.#ports.onError(cause),
      );
    });
  }

  #work(group: TimerGroup): void {
    this.#working = true;
    this.#drain(group).then(
      () => {
        this.#working = false;
        this.#rearm();
      },
      (cause: unknown) => this.#ports.onError(cause),
    );
  }

  /** Fires everything that is due, partition by partition. */
  async #drain(group: TimerGroup): Promise<void> {
    const next = this.#next[group];
    for (const partition of this.#partitions) {
      for (;;) {
        const from = next.get(partition) ?? NEVER;
        if (this.#stopped || from > this.#ports.clock.nowMs()) break;
        // Timers armed from here on lower the mark again; those stored before are in the page.
        next.delete(partition);
        const page = await this.#ports.store.timers(partition, group, from, TIMER_PAGE);
        const nowMs = this.#ports.clock.nowMs();
        let due = 0;
        while (due < page.length && (page[due] as TimerKey).dueAtMs <= nowMs) due++;
        const later = page[due];
        if (later !== undefined) this.#lower(group, partition, later.dueAtMs);
        else if (page.length === TIMER_PAGE) this.#lower(group, partition, (page[page.length - 1] as TimerKey).dueAtMs);
        if (due === 0) break;
        if (group === "precise") this.#measure(page, due, nowMs);
        await this.#fireAll(page.slice(0, due));
      }
    }
  }

  #measure(page: readonly TimerKey[], due: number, nowMs: number): void {
    const { metrics } = this.#ports;
    if (metrics === undefined) return;
    for (let i = 0; i < due; i++) metrics.timerFired(nowMs - (page[i] as TimerKey).dueAtMs);
  }

  /** Resolves when all are durable, so that the next read does not return them again. */
  #fireAll(timers: readonly TimerKey[]): Promise<void> {
    return new Promise((resolve) => {
      for (const [index, timer] of timers.entries()) {
        this.#ports.fire(timer, index === timers.length - 1 ? resolve : IGNORE);
      }
    });
  }
}

const IGNORE = (): void => undefined;
