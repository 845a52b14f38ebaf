/**
 * Starts the parts of a process in order and closes them in the reverse order, whatever ends the process: a signal, a failure while
 * starting, or a failure later. Draining comes first (refuse new work, finish what is quick), closing follows; both together have a
 * deadline, because the sender of the signal does not wait longer. A second signal ends the process at once, unless it is a copy of the first.
 */
import type { Clock, Logger } from "@perdure/base";
import { PerdureError, StopSignals } from "@perdure/base";
import type { UncaughtOrigin } from "./connection-errors.js";
import type { Health, HealthReport } from "./health.js";
import { FAILURES_LOGGED_MAX } from "./limits.js";

/** Something the process holds. Parts are drained and closed in the reverse order of their start. */
export interface ProcessPart extends AsyncDisposable {
  /** Take no new work and finish what is short; ends early when the signal fires. */
  drain?(signal: AbortSignal): Promise<void>;
}

interface LifecycleOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly health: Health;
  /** Longest time for draining, then again for closing; work that is not done then is abandoned. */
  readonly shutdownTimeoutMs: number;
}

/** How a stopped process should end. */
type ProcessEnding =
  | { readonly kind: "stopped" }
  | { readonly kind: "failed"; readonly error: PerdureError }
  | { readonly kind: "abandoned" };

export class Lifecycle {
  readonly #options: LifecycleOptions;
  readonly #parts: { name: string; part: ProcessPart }[] = [];
  readonly #ended = Promise.withResolvers<ProcessEnding>();
  readonly #stopSignal = new AbortController();
  #failure: PerdureError | undefined;
  #failuresLogged = 0;

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /** Aborted when the process must stop or cannot continue: starts that wait for other processes give up then. */
  get stopping(): AbortSignal {
    return this.#stopSignal.signal;
  }

  /** Why the process cannot continue; undefined while it can, and when it stops well. */
  get failure(): PerdureError | undefined {
    return this.#failure;
  }

  /** The clock of deadlines. */
  get clock(): Clock {
    return this.#options.clock;
  }

  /** Names the parts that have not started yet, and whether the process is stopping, for probes. */
  get health(): HealthReport {
    return this.#options.health.report();
  }

  /**
   * Starts a part. When it fails, the parts already started are closed before the promise rejects with the cause. Rejects with OPS0004 when
   * the process must stop meanwhile; `untilEnded` resolves when that is done.
   */
  async start<P extends ProcessPart>(name: string, open: () => P | Promise<P>): Promise<P> {
    this.#options.health.expect(name);
    const part = await this.prepare(open);
    if (this.stopping.aborted) await this.#guard(`closing ${name}`, part[Symbol.asyncDispose]());
    this.#refuseWhenStopping();
    this.#parts.push({ name, part });
    this.#options.health.ready(name);
    return part;
  }

  /** Work between the starts of parts; probes report it as long as it takes. A failure ends the process as a failed start does. */
  async awaitPart<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    this.#options.health.expect(name);
    const done = await this.prepare(work);
    this.#options.health.ready(name);
    return done;
  }

  /** Work between the starts of parts; the same happens when it fails. */
  async prepare<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      this.#refuseWhenStopping();
      return await work();
    } catch (cause) {
      if (!this.stopping.aborted) await this.#stopParts();
      throw cause;
    }
  }

  /** Ends the process well; calling it again changes nothing. `reason` is for the log. */
  stop(reason: string): void {
    if (this.stopping.aborted) return;
    this.#stopSignal.abort();
    this.#options.logger.info({ reason }, "shutting down");
    this.#finish();
  }

  /** Ends the process because it cannot continue: the first failure is the one reported. */
  fail(cause: unknown): void {
    const error = PerdureError.from(cause);
    this.#options.health.fail();
    // When logging itself fails, logging each failure would cause the next one, without end.
    if (this.#failuresLogged++ < FAILURES_LOGGED_MAX) {
      this.#options.logger.error({ code: error.code, error: cause }, "fatal error; shutting down");
    }
    this.#failure ??= error;
    if (this.stopping.aborted) return;
    this.#stopSignal.abort();
    this.#finish();
  }

  /** Settles when everything was let go of (or given up). */
  untilEnded(): Promise<ProcessEnding> {
    return this.#ended.promise;
  }

  #refuseWhenStopping(): void {
    if (this.stopping.aborted) throw new PerdureError("OPS0004", "the process is stopping");
  }

  #finish(): void {
    const ending = this.#stopParts().then((complete): ProcessEnding => {
      if (this.#failure !== undefined) return { kind: "failed", error: this.#failure };
      return complete ? { kind: "stopped" } : { kind: "abandoned" };
    });
    this.#ended.resolve(ending);
  }

  /** Whether all parts were closed in time. */
  async #stopParts(): Promise<boolean> {
    this.#options.health.expect("shutdown");
    const drained = await this.#withDeadline("draining", async (signal) => {
      for (const { name, part } of this.#parts.toReversed()) {
        if (part.drain !== undefined) await this.#guard(`draining ${name}`, part.drain(signal));
      }
    });
    const closed = await this.#withDeadline("closing", async () => {
      while (this.#parts.length > 0) {
        const { name, part } = this.#parts.pop()!;
        await this.#guard(`closing ${name}`, part[Symbol.asyncDispose]());
      }
    });
    return drained && closed;
  }

  /** An error of one part must not keep the others from closing. */
  async #guard(what: string, work: PromiseLike<void>): Promise<void> {
    try {
      await work;
    } catch (cause) {
      this.#options.logger.error({ error: cause }, `${what} failed`);
    }
  }

  async #withDeadline(what: string, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const controller = new AbortController();
    const deadline = Promise.withResolvers<false>();
    const timer = this.#options.clock.setTimer(this.#options.shutdownTimeoutMs, () => {
      this.#options.logger.warn({ timeoutMs: this.#options.shutdownTimeoutMs }, `${what} takes too long; continuing without it`);
      controller.abort();
      deadline.resolve(false);
    });
    const inTime = await Promise.race([work(controller.signal).then(() => true), deadline.promise]);
    timer.cancel();
    return inTime;
  }
}

/** The few things of `process` that end a program. */
export interface ProcessHooks {
  on(event: "SIGINT" | "SIGTERM", listener: () => void): unknown;
  on(event: UncaughtOrigin, listener: (cause: unknown) => void): unknown;
  off(event: string, listener: (cause: unknown) => void): unknown;
  exit(code: number): void;
}

/** Exit code of a process that a second signal ended, as shells report an interrupt. */
const INTERRUPTED = 130;

/**
 * Connects a lifecycle with the process's signals and uncaught failures. Disposing disconnects. `survives` decides which uncaught failures do
 * not end the process; without it each does.
 */
export function attachToProcess(
  lifecycle: Lifecycle,
  hooks: ProcessHooks,
  survives: (cause: unknown, origin: UncaughtOrigin) => boolean = () => false,
): Disposable {
  const signals = new StopSignals(lifecycle.clock);
  const onSignal = (name: string) => (): void => {
    const meaning = signals.receive(name);
    if (meaning === "at-once") hooks.exit(INTERRUPTED);
    if (meaning === "stop") lifecycle.stop(name);
  };
  const onInterrupt = onSignal("SIGINT");
  const onTerminate = onSignal("SIGTERM");
  const onFailure =
    (origin: UncaughtOrigin) =>
    (cause: unknown): void => {
      if (!survives(cause, origin)) lifecycle.fail(cause);
    };
  const onException = onFailure("uncaughtException");
  const onRejection = onFailure("unhandledRejection");
  hooks.on("SIGINT", onInterrupt);
  hooks.on("SIGTERM", onTerminate);
  hooks.on("uncaughtException", onException);
  hooks.on("unhandledRejection", onRejection);
  return {
    [Symbol.dispose]() {
      hooks.off("SIGINT", onInterrupt);
      hooks.off("SIGTERM", onTerminate);
      hooks.off("uncaughtException", onException);
      hooks.off("unhandledRejection", onRejection);
    },
  };
}
