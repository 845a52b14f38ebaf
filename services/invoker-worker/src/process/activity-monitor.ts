/**
 * Reports what scaling in a worker, or hibernating its environment, would interrupt: what is led here, what is ready or runs, the time of
 * the last activity, and what is due next. Between requests it costs one short check per interval.
 */
import type { Clock, TimerHandle } from "@perdure/base";
import type { Registry } from "@perdure/metadata";
import { dueAt, nextNominal, type Schedules } from "@perdure/schedules";
import type { ClusterWorker } from "../cluster/cluster-worker.js";
import { ACTIVITY_POLL_MS } from "../limits.js";
import type { RecentAttempts } from "../metrics.js";

/** The observed parts. */
interface ActivitySources {
  readonly worker: Pick<ClusterWorker, "counters" | "slots" | "leaderPartitions">;
  readonly attempts: Readonly<RecentAttempts>;
  readonly registry: Pick<Registry, "subscriptions"> & { readonly schedules: Pick<Schedules, "list"> };
}

/** Activity of a worker; times in milliseconds since 1970. */
export interface Activity {
  /** Whether work would be delayed or cut off if the worker ended now. */
  readonly inFlight: boolean;
  /** The part of it that is attempts: with a slot, waiting for one, and waiting for their next one. The rest is callers and messages. */
  readonly running: number;
  readonly ready: number;
  readonly backingOff: number;
  /** Seconds until all ready work has begun. */
  readonly readySeconds: number;
  /** Seconds since the last activity. */
  readonly idleSeconds: number;
  /** Time at which the first timer of the partitions led here is due; null: there is none. */
  readonly timerDueAtMs: number | null;
  /** Time at which the first schedule of the environment is due; null: there is none; absent: no registry is reachable. */
  readonly scheduleDueAtMs?: number | null;
  /** Topics whose records must be read: nothing else reports a new record. */
  readonly subscriptions: number;
}

export class ActivityMonitor {
  readonly #sources: ActivitySources;
  readonly #clock: Clock;
  #commands = 0;
  #activeAtMs: number;

  constructor(sources: ActivitySources, clock: Clock) {
    this.#sources = sources;
    this.#clock = clock;
    this.#activeAtMs = clock.monotonicMs();
  }

  /** Checks for activity at an interval until it is disposed of. */
  watch(): AsyncDisposable {
    const check = (): void => {
      this.#check();
      timer = this.#clock.setTimer(ACTIVITY_POLL_MS, check);
    };
    let timer: TimerHandle = this.#clock.setTimer(ACTIVITY_POLL_MS, check);
    return {
      async [Symbol.asyncDispose]() {
        timer.cancel();
      },
    };
  }

  /** Rejects as the store does. */
  async activity(): Promise<Activity> {
    const { worker, attempts, registry } = this.#sources;
    const inFlight = this.#check();
    const { slots, leaderPartitions } = worker;
    const [timerDueAtMs = null, scheduleDueAtMs] = await Promise.all([
      leaderPartitions.nextDueAtMs(),
      firstSchedule(registry.schedules),
    ]);
    return {
      inFlight,
      running: slots.used,
      ready: slots.waiting,
      backingOff: attempts.backingOff,
      readySeconds: (slots.waiting * attempts.meanSeconds) / slots.limit,
      idleSeconds: Math.floor((this.#clock.monotonicMs() - this.#activeAtMs) / 1000),
      timerDueAtMs,
      ...(scheduleDueAtMs === undefined ? {} : { scheduleDueAtMs }),
      subscriptions: registry.subscriptions().length,
    };
  }

  /** Whether anything is in flight. */
  #check(): boolean {
    const { worker, attempts } = this.#sources;
    const { counters, slots, leaderPartitions } = worker;
    const isBusy = slots.used + slots.waiting + attempts.backingOff > 0 || !leaderPartitions.isQuiet;
    if (isBusy || counters.commands !== this.#commands) this.#activeAtMs = this.#clock.monotonicMs();
    this.#commands = counters.commands;
    return isBusy;
  }
}

/** Null: none is due ever; undefined: no registry is reachable. */
async function firstSchedule(schedules: Pick<Schedules, "list">): Promise<number | null | undefined> {
  let first = Number.POSITIVE_INFINITY;
  try {
    for (const schedule of await schedules.list()) {
      const { isPaused, queue } = schedule.state;
      const nominal = isPaused ? undefined : nextNominal(schedule);
      if (nominal !== undefined) first = Math.min(first, dueAt(schedule, nominal));
      if (queue.length > 0) first = 0; // The head is fired when a run has ended, which may be now.
    }
  } catch {
    return undefined; // The registry is unreachable.
  }
  return Number.isFinite(first) ? first : null;
}
