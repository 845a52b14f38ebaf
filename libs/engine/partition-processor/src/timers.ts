/**
 * Fires timers, which the store keeps in the order of their due time; memory holds only the earliest due time of each partition. At
 * that time, due timers are read a page at a time, so a hundred thousand sleeping invocations cost no memory and wake in order.
 */
import { present, type TimerHandle } from "@perdure/base";
import type { TimerKey, UndoNote } from "@perdure/state-machine";
import { type TimerGroup, timerGroupOf } from "@perdure/storage";
import type { LeaderPartition } from "./leader-partition.js";
import { TIMER_PAGE } from "./limits.js";
import type { PartitionGroup } from "./partition-group.js";

const NEVER = Number.POSITIVE_INFINITY;

export class Timers {
  readonly #group: PartitionGroup;
  #armed: TimerHandle | undefined;
  #armedFor = NEVER;
  #cleanup: TimerHandle | undefined;
  #working = false;
  #stopped = false;

  constructor(group: PartitionGroup) {
    this.#group = group;
  }

  /** Reads the earliest stored timers. */
  async start(): Promise<void> {
    const { ports, leaders } = this.#group;
    for (const group of ["precise", "retention"] as const) {
      for (const leader of leaders.values()) {
        const [first] = await ports.store.timers(leader.partition, group, 0, 1);
        if (first !== undefined) this.#lower(leader, group, first.dueAtMs);
      }
    }
    this.#rearm();
    this.#expireUndo(); // Those of a leader under which undo was not off yet must not wait for the first clean-up.
    this.#scheduleCleanup();
  }

  /** Registers a timer that was stored. */
  arm(leader: LeaderPartition, timer: TimerKey): void {
    const group = timerGroupOf(timer);
    this.#lower(leader, group, timer.dueAtMs);
    if (group !== "retention") this.#rearm();
  }

  stop(): void {
    this.#stopped = true;
    this.#armed?.cancel();
    this.#cleanup?.cancel();
  }

  #lower({ nextDueAtMs }: LeaderPartition, group: TimerGroup, dueAtMs: number): void {
    if (dueAtMs < nextDueAtMs[group]) nextDueAtMs[group] = dueAtMs;
  }

  #rearm(): void {
    if (this.#stopped || this.#working) return;
    let earliest = NEVER;
    for (const { nextDueAtMs } of this.#group.leaders.values())
      earliest = Math.min(earliest, nextDueAtMs.precise, nextDueAtMs.state);
    if (earliest === this.#armedFor) return;
    this.#armed?.cancel();
    this.#armed = undefined;
    this.#armedFor = earliest;
    if (earliest === NEVER) return;
    const { clock } = this.#group.ports;
    this.#armed = clock.setTimer(Math.max(0, earliest - clock.nowMs()), () => {
      this.#armed = undefined;
      this.#armedFor = NEVER;
      this.#work();
    });
  }

  #scheduleCleanup(): void {
    if (this.#stopped) return;
    const { ports, options } = this.#group;
    this.#cleanup = ports.clock.setTimer(options.cleanupIntervalMs, () => {
      this.#drain("retention").then(
        () => {
          this.#expireUndo();
          this.#scheduleCleanup();
        },
        (cause: unknown) => this.#group.fail(cause),
      );
    });
  }

  /** Deletes records of undo whose time is over, a bounded number with each command. */
  #expireUndo(): void {
    for (const leader of this.#group.leaders.values()) this.#expireUndoOf(leader, undefined);
  }

  /** `last`: the note for which the last command was sent. A partition that has not deleted it is stopped, or waits for rows. */
  #expireUndoOf(leader: LeaderPartition, last: UndoNote | undefined): void {
    const note = leader.view.undo?.expired(this.#group.ports.clock.nowMs());
    if (this.#stopped || note === undefined || (note.id === last?.id && note.operation === last.operation)) return;
    this.#group.post({ kind: "command", command: { kind: "expireUndo", id: note.id }, receiver: undefined });
    this.#group.post({ kind: "barrier", passed: () => this.#expireUndoOf(leader, note) });
  }

  #work(): void {
    this.#working = true;
    this.#drainOnTime().then(
      () => {
        this.#working = false;
        this.#rearm();
      },
      (cause: unknown) => this.#group.fail(cause),
    );
  }

  async #drainOnTime(): Promise<void> {
    await this.#drain("precise");
    await this.#drain("state");
  }

  /** Fires everything that is due, partition by partition. */
  async #drain(group: TimerGroup): Promise<void> {
    const { store, clock } = this.#group.ports;
    for (const leader of this.#group.leaders.values()) {
      for (;;) {
        if (this.#stopped || leader.nextDueAtMs[group] > clock.nowMs()) break;
        if (group === "state") await this.#beginStateRead(leader);
        // Read only now: an earlier timer may have been armed meanwhile, after the clock was set back.
        const from = leader.nextDueAtMs[group];
        // Timers armed from here on lower the mark again; those stored before are in the page.
        leader.nextDueAtMs[group] = NEVER;
        const page = await store.timers(leader.partition, group, from, TIMER_PAGE);
        const nowMs = clock.nowMs();
        let due = 0;
        while (due < page.length && present(page[due]).dueAtMs <= nowMs) due++;
        const later = page[due];
        if (later !== undefined) this.#lower(leader, group, later.dueAtMs);
        else if (page.length === TIMER_PAGE) this.#lower(leader, group, present(page[page.length - 1]).dueAtMs);
        if (group === "precise") this.#measure(page, due, nowMs);
        if (due > 0) await this.#fireAll(page.slice(0, due));
        if (group === "state") leader.view.stateTtls.endRead(leader.nextDueAtMs.state);
        if (due === 0) break;
      }
    }
  }

  /** Timers of state that were put before are durable when this resolves; those put since are known to the view. */
  #beginStateRead(leader: LeaderPartition): Promise<void> {
    leader.view.stateTtls.beginRead();
    return new Promise((passed) => this.#group.post({ kind: "barrier", passed }));
  }

  /** Retention timers are not measured, since no caller waits for them. */
  #measure(page: readonly TimerKey[], due: number, nowMs: number): void {
    const { metrics } = this.#group.ports;
    if (metrics === undefined) return;
    for (let i = 0; i < due; i++) metrics.timerFired(nowMs - present(page[i]).dueAtMs);
  }

  /** Resolves when all are durable, so that the next read does not return them again. */
  #fireAll(timers: readonly TimerKey[]): Promise<void> {
    return new Promise((resolve) => {
      for (const [index, timer] of timers.entries()) this.#fire(timer, index === timers.length - 1 ? resolve : IGNORE);
    });
  }

  /** Submits the firing; `done` is called when it is durable: the timer is deleted from the store. */
  #fire(timer: TimerKey, done: () => void): void {
    const { archive } = this.#group;
    this.#group.post({ kind: "command", command: { kind: "timerFired", id: timer.id, timer }, receiver: undefined });
    const passed = archive === undefined ? done : (): void => archive.whenTimersAreIn(done);
    this.#group.post({ kind: "barrier", passed });
  }
}

const IGNORE = (): void => undefined;
