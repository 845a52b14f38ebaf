/**
 * Acts on schedules. It waits until the earliest schedule is due, calls `decide`, carries out the decision, and records the result:
 *
 *     due, changed, or a run ended ▸ decide ▸ submit (durable) ▸ record (durable) ▸ arm
 *
 * After a crash between submit and record the decision is the same, and the same id meets the invocation that exists. For the same
 * reason two engines at once are harmless: both would submit the same ids. So it needs no leadership.
 */
import { backoffMs, type Clock, type Logger, PerdureError, type Random, type ScheduleId, unreachable } from "@perdure/base";
import type { Detach, Partitions, RegistryView } from "@perdure/control";
import { Deadlines } from "./deadlines.js";
import { decide, type PreviousRun, type ScheduleAction } from "./decide.js";
import type { ScheduleEvent } from "./event.js";
import { firingCommand, scheduledFiring } from "./firing.js";
import { OVERDUE_AFTER_MS, RETRY_FIRST_MS, RETRY_MAX_MS, SLEEP_MS_MAX, TURNS_IN_FLIGHT_MAX } from "./limits.js";
import type { BackfillBatch, BackfilledTime, ManualFiring, ScheduleBook, ScheduleRunner } from "./ports.js";
import { ScheduleRecorder } from "./recorder.js";
import { createScheduleRunner } from "./runner.js";
import type { Schedule, ScheduleState } from "./schedule.js";
import { submit, watchRun } from "./submit.js";
import { nextNominal } from "./upcoming.js";

interface SchedulePorts {
  readonly book: ScheduleBook;
  readonly partitions: Partitions;
  readonly registry: RegistryView;
  readonly clock: Clock;
  /** Source of the random pauses between tries. */
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

/** Disposing it lets work under way finish, and starts no more. */
export interface ScheduleEngine extends ScheduleRunner, AsyncDisposable {}

export function createScheduleEngine(ports: SchedulePorts): ScheduleEngine {
  return new SchedulingEngine(ports);
}

/** A run whose end is observed. */
interface RunWatch {
  readonly invocationId: string;
  hasEnded: boolean;
  detach: Detach | undefined;
}

/** The result of one action; `again`: it failed, and nothing after it was tried. */
type Done =
  | { readonly kind: "event"; readonly event: ScheduleEvent }
  | { readonly kind: "nothing" }
  | { readonly kind: "again"; readonly reason: string };

class SchedulingEngine implements ScheduleEngine {
  readonly #ports: SchedulePorts;
  readonly #recorder: ScheduleRecorder;
  readonly #runner: ScheduleRunner;
  readonly #deadlines = new Deadlines<ScheduleId>();
  readonly #ready = new Set<ScheduleId>();
  readonly #inFlight = new Map<ScheduleId, Promise<void>>();
  readonly #watches = new Map<ScheduleId, RunWatch>();
  readonly #failures = new Map<ScheduleId, number>();
  /** Times that were submitted without a response. */
  readonly #tried = new Map<ScheduleId, number>();
  /** Schedules for which no earlier engine left a submission unrecorded. */
  readonly #checkedIds = new Set<ScheduleId>();
  /** Events that happened and could not be recorded yet. */
  readonly #unrecorded = new Map<ScheduleId, readonly ScheduleEvent[]>();
  readonly #stopListening: () => void;
  #timer: { readonly atMs: number; cancel(): void } | undefined;
  #isClosed = false;

  constructor(ports: SchedulePorts) {
    this.#ports = ports;
    this.#recorder = new ScheduleRecorder(ports.book);
    this.#runner = createScheduleRunner(ports, this.#recorder);
    this.#stopListening = ports.book.onChange((id) => this.#enqueue(id));
    for (const { record } of ports.book.list()) this.#ready.add(record.id);
    this.#startDue();
  }

  runNow(id: ScheduleId, key: string): Promise<ManualFiring> {
    return this.#runner.runNow(id, key);
  }

  backfill(id: ScheduleId, batch: BackfillBatch): Promise<readonly BackfilledTime[]> {
    return this.#runner.backfill(id, batch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    this.#timer?.cancel();
    await Promise.all(this.#inFlight.values());
    for (const { detach } of this.#watches.values()) detach?.detach();
    this.#watches.clear();
  }

  // ── deadlines ──────────────────────────────────────────────────────────────────────────────────

  #enqueue(id: ScheduleId): void {
    if (this.#isClosed) return;
    this.#ready.add(id);
    this.#startDue();
  }

  /** Starts the schedules that are due and arms the timer for the rest. */
  #startDue(): void {
    if (this.#isClosed) return;
    const nowMs = this.#ports.clock.nowMs();
    for (let due = this.#deadlines.takeDue(nowMs); due !== undefined; due = this.#deadlines.takeDue(nowMs)) this.#ready.add(due);
    for (const id of this.#ready) {
      if (this.#inFlight.size >= TURNS_IN_FLIGHT_MAX) break;
      if (this.#inFlight.has(id)) continue; // Checked again when the work under way is done.
      this.#ready.delete(id);
      // Not at once: the calls of a turn may call back here, and must find it in flight.
      this.#inFlight.set(
        id,
        Promise.resolve().then(() => this.#turn(id)),
      );
    }
    this.#arm(nowMs);
  }

  #arm(nowMs: number): void {
    const firstMs = this.#deadlines.firstMs;
    const atMs = firstMs === undefined ? undefined : Math.min(firstMs, nowMs + SLEEP_MS_MAX);
    if (atMs === this.#timer?.atMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (atMs === undefined) return;
    const handle = this.#ports.clock.setTimer(atMs - nowMs, () => {
      this.#timer = undefined;
      this.#startDue();
    });
    this.#timer = { atMs, cancel: () => handle.cancel() };
  }

  /** Runs one round of one schedule. Never rejects. */
  async #turn(id: ScheduleId): Promise<void> {
    const { clock, random, logger } = this.#ports;
    try {
      const nextCheckAtMs = await this.#act(id);
      this.#failures.delete(id);
      if (nextCheckAtMs === undefined) this.#deadlines.delete(id);
      else this.#deadlines.set(id, nextCheckAtMs);
    } catch (cause) {
      const before = this.#failures.get(id) ?? 0;
      const failures = before + 1;
      this.#failures.set(id, failures);
      const retryMs = backoffMs(before, { firstMs: RETRY_FIRST_MS, longestMs: RETRY_MAX_MS }, random);
      logger.warn({ scheduleId: id, cause, failures, retryMs }, "a schedule could not be acted upon; trying again");
      this.#deadlines.set(id, clock.nowMs() + retryMs);
      this.#ready.delete(id); // A change that arrived meanwhile is handled at the retry: handling it at once would retry without pause.
    } finally {
      this.#inFlight.delete(id);
      this.#startDue();
    }
  }

  // ── decisions ──────────────────────────────────────────────────────────────────────────────────

  /** Carries out and records a decision; returns when to decide again. What was done before a failure is recorded as well. */
  async #act(id: ScheduleId): Promise<number | undefined> {
    const { book, clock } = this.#ports;
    const unrecorded = this.#unrecorded.get(id);
    if (unrecorded !== undefined) await this.#record(id, unrecorded);
    const schedule = book.get(id);
    if (schedule === undefined) return this.#drop(id);
    const triedMs = this.#tried.get(id) ?? (await this.#triedBeforeRestart(schedule));
    const { actions, nextCheckAtMs } = decide(schedule, clock.nowMs(), this.#previousRun(id, schedule.state), triedMs);
    const events: ScheduleEvent[] = [];
    let problem: string | undefined;
    this.#tried.delete(id);
    for (const action of actions) {
      const done = await this.#do(schedule, action);
      if (done.kind === "event") events.push(done.event);
      if (done.kind !== "again") continue;
      problem = done.reason;
      if (action.kind === "fire" && action.cause !== "queued") this.#tried.set(id, action.nominalMs);
      break;
    }
    if (events.length > 0) await this.#record(id, events);
    if (problem !== undefined) throw new PerdureError("ING0006", problem);
    return nextCheckAtMs;
  }

  /** Writes events. No further decision is made for the schedule until they are written, because the next decision depends on them. */
  async #record(id: ScheduleId, events: readonly ScheduleEvent[]): Promise<void> {
    this.#unrecorded.set(id, events);
    await this.#recorder.record({ id, events });
    this.#unrecorded.delete(id);
  }

  /**
   * Before a crash the first undecided time may have been submitted and not recorded. If so it fired and was not missed, and the same
   * may hold for the time after it.
   */
  async #triedBeforeRestart(schedule: Schedule): Promise<number | undefined> {
    const { registry, partitions, clock } = this.#ports;
    const { record } = schedule;
    if (this.#checkedIds.has(record.id)) return undefined;
    const nowMs = clock.nowMs();
    const nominalMs = nextNominal(schedule);
    if (nominalMs !== undefined && nominalMs < nowMs - OVERDUE_AFTER_MS) {
      const made = firingCommand(record, scheduledFiring(nominalMs), registry, nowMs);
      if (made.kind === "command" && (await partitions.describe(made.command.id)) !== undefined) return nominalMs;
    }
    this.#checkedIds.add(record.id);
    return undefined;
  }

  async #do(schedule: Schedule, action: ScheduleAction): Promise<Done> {
    const { partitions, clock } = this.#ports;
    switch (action.kind) {
      case "fire":
        return this.#fire(schedule, action);
      case "skip":
        return { kind: "event", event: { kind: "skipped", nominalMs: action.nominalMs, atMs: clock.nowMs() } };
      case "queue":
        return { kind: "event", event: { kind: "queued", nominalMs: action.nominalMs } };
      case "miss":
        return {
          kind: "event",
          event: { kind: "missed", count: action.count, throughMs: action.throughMs, atMs: clock.nowMs() },
        };
      case "endRun":
        return { kind: "event", event: { kind: "runEnded", invocationId: action.invocationId } };
      case "cancel":
        return partitions.submit({ kind: "cancel", id: action.invocationId }).then(
          () => ({ kind: "nothing" }), // A run that has ended needs no watch: any response will do.
          (cause: unknown) => ({ kind: "again", reason: PerdureError.from(cause).detail }),
        );
      default:
        return unreachable(action);
    }
  }

  async #fire(schedule: Schedule, { nominalMs, cause }: Extract<ScheduleAction, { kind: "fire" }>): Promise<Done> {
    const { registry, clock, logger } = this.#ports;
    const { record } = schedule;
    const atMs = clock.nowMs();
    const failed = (detail: string): Done => {
      logger.warn({ scheduleId: record.id, nominalMs, detail }, "a schedule could not fire");
      return { kind: "event", event: { kind: "failed", cause, nominalMs, atMs, detail } };
    };
    const made = firingCommand(record, scheduledFiring(nominalMs), registry, atMs);
    if (made.kind === "impossible") return failed(made.reason);
    const { command } = made;
    const watch: RunWatch | undefined =
      record.overlap.kind === "allow" ? undefined : { invocationId: command.id, hasEnded: false, detach: undefined };
    const observer = watch === undefined ? undefined : this.#observerOf(record.id, watch);
    const { submission, watch: detach } = await submit(this.#ports, command, observer);
    switch (submission.kind) {
      case "taken":
        return failed(`the workflow '${command.facts.target.key}' was already invoked`);
      case "unavailable":
        return { kind: "again", reason: submission.reason };
      case "stored": {
        if (watch !== undefined) {
          watch.detach = detach;
          this.#watch(record.id, watch);
        }
        logger.debug({ scheduleId: record.id, invocationId: command.id, nominalMs, cause }, "schedule fired");
        return { kind: "event", event: { kind: "fired", cause, nominalMs, atMs, invocationId: command.id } };
      }
      default:
        return unreachable(submission);
    }
  }

  // ── the previous run ───────────────────────────────────────────────────────────────────────────

  /** `running` unless the end was reported; after a restart the partition is queried first. */
  #previousRun(id: ScheduleId, { active }: ScheduleState): PreviousRun {
    if (active === undefined) return "ended";
    const existing = this.#watches.get(id);
    if (existing?.invocationId === active.invocationId) return existing.hasEnded ? "ended" : "running";
    const watch: RunWatch = { invocationId: active.invocationId, hasEnded: false, detach: undefined };
    this.#watch(id, watch);
    watch.detach = watchRun(this.#ports.partitions, active.invocationId, this.#observerOf(id, watch));
    return "running";
  }

  #observerOf(id: ScheduleId, watch: RunWatch) {
    return {
      ended: () => {
        watch.hasEnded = true;
        this.#enqueue(id);
      },
      lost: () => {
        if (this.#watches.get(id) === watch) this.#watches.delete(id);
        this.#deadlines.setEarlier(id, this.#ports.clock.nowMs() + RETRY_FIRST_MS);
        if (!this.#isClosed) this.#arm(this.#ports.clock.nowMs());
      },
    };
  }

  #watch(id: ScheduleId, watch: RunWatch): void {
    const previous = this.#watches.get(id);
    if (previous !== watch) previous?.detach?.detach();
    this.#watches.set(id, watch);
  }

  /** The schedule was removed; its runs continue, but are no longer observed. */
  #drop(id: ScheduleId): undefined {
    this.#watches.get(id)?.detach?.detach();
    this.#watches.delete(id);
    this.#failures.delete(id);
    this.#tried.delete(id);
    this.#checkedIds.delete(id);
    this.#unrecorded.delete(id);
    return undefined;
  }
}
