/** The invoker of one partition: owns its runs and passes each effect to the run it concerns. */
import { type Clock, type ErrorCode, type InvocationId, type Logger, type Random, SummaryLog } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import type { EndpointTransport, RequestIdentity } from "@perdure/endpoint-transport";
import type { EntryStored, RequestPause, RetryNow, StartRun, StopRun } from "@perdure/state-machine";
import { failure } from "./attempt-failure.js";
import type { Blockage } from "./blockage.js";
import { AttemptDeadlines } from "./deadlines.js";
import { FairShares, type ShareMember } from "./fair-shares.js";
import { FlushGroup } from "./flush-group.js";
import { LargeMessages } from "./large-messages.js";
import { FINISH_INTERVAL_MS, FRAME_SHARES, START_SHARES } from "./limits.js";
import { type InvokerMetrics, noMetrics } from "./metrics.js";
import { type InvokerOptions, invokerDefaults } from "./options.js";
import type { CutAttempt, Invoker, InvokerHost, InvokerStatus } from "./ports.js";
import { Run } from "./run.js";
import type { RunContext } from "./run-context.js";
import { Slots } from "./slots.js";

export interface InvokerDeps {
  readonly host: InvokerHost;
  readonly registry: RegistryView;
  /** Shared between invokers; disposing an invoker leaves them open. */
  readonly transports: { readonly http: EndpointTransport; readonly lambda?: EndpointTransport | undefined };
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Signs requests; undefined: requests carry no signature. */
  readonly identity?: RequestIdentity | undefined;
  readonly metrics?: InvokerMetrics | undefined;
  /** Slots shared by the invokers of a process; undefined: an own limit of as many as the options set. */
  readonly slots?: Slots | undefined;
  /** Shared deadlines; undefined: own deadlines. */
  readonly failureLog?: SummaryLog | undefined;
  /** Shared turns for large messages; undefined: own turns. */
  readonly largeMessages?: LargeMessages | undefined;
}

/** Why running attempts are cut off, and when the next ones request a slot; no attempt of a retry policy is used up. */
export interface Interruption {
  readonly errorCode: ErrorCode;
  readonly message: string;
  readonly nextRetryDelayMs: number;
}

export interface InterruptibleInvoker extends Invoker {
  /** All attempts that have a stream. */
  interrupt(interruption: Interruption): void;
  /** Fails the attempt of `id` with RT0101, resets its stream, and retries; returns undefined when no attempt has a stream. */
  cutAttempt(id: InvocationId): CutAttempt | undefined;
  /** The running attempts, for observers that must know whether handlers work. */
  attempts(): Iterable<RunningAttempt>;
}

export interface RunningAttempt {
  readonly id: InvocationId;
  /** How certain it is that the handler only waits; undefined while it works or may work. */
  readonly blockage: Blockage | undefined;
  /** Requests a suspension, which a handler that works sends only when it awaits something. */
  suspend(): void;
}

/** Runs nothing until it receives effects. Disposing resets every stream; nothing is submitted afterwards. */
export function createInvoker(deps: InvokerDeps, options: Partial<InvokerOptions> = {}): InterruptibleInvoker {
  return new PartitionInvoker(deps, { ...invokerDefaults, ...options });
}

class PartitionInvoker implements InterruptibleInvoker {
  readonly #runs = new Map<InvocationId, Run>();
  /** Stopped runs whose streams still drain. */
  readonly #draining = new Set<Run>();
  readonly #context: RunContext;
  readonly #starts: FairShares;
  #disposed = false;
  /** Running attempts may end, others do not begin. */
  #isFinishing = false;

  constructor(deps: InvokerDeps, options: InvokerOptions) {
    const { host, registry, clock, random, logger, transports } = deps;
    const whenDurable = (callback: () => void): void => host.whenDurable(callback);
    this.#starts = new FairShares(START_SHARES, whenDurable);
    this.#context = {
      host,
      registry,
      clock,
      random,
      scopesEnabled: options.scopesEnabled,
      preferredPartitions: options.preferredPartitions,
      logger,
      transports: { http: transports.http, lambda: transports.lambda },
      identity: deps.identity,
      metrics: deps.metrics ?? noMetrics,
      failureLog: deps.failureLog ?? new SummaryLog(logger, clock),
      slots: deps.slots ?? new Slots(options.concurrentInvocationsMax, clock, logger),
      flushes: new FlushGroup(),
      deadlines: new AttemptDeadlines(clock),
      shares: new FairShares(FRAME_SHARES, whenDurable),
      pace: options.pace,
      largeMessages: deps.largeMessages ?? new LargeMessages(clock, options.largeMessagesBytesMax),
      options,
      drained: (run) => this.#draining.delete(run),
    };
  }

  startRun(effect: StartRun): void {
    if (this.#disposed) return;
    const { id } = effect.invocation.facts;
    const older = this.#runs.get(id);
    if (older !== undefined) this.#stop(older); // Its outcome no longer counts.
    if (this.#isFinishing) {
      this.#runs.delete(id);
      return;
    }
    const run = new Run(effect, this.#context);
    this.#runs.set(id, run);
    const share = this.#starts.serviceShare(effect.invocation.facts.target.service);
    if (this.#starts.allowance(share) <= 0)
      return this.#starts.wait(share, new DelayedStart(run, () => this.#runs.get(id) === run));
    this.#starts.spend(share, 1);
    run.start();
  }

  entryStored(effect: EntryStored): void {
    this.#present(effect)?.entryStored(effect);
  }

  stopRun(effect: StopRun): void {
    const run = this.#present(effect);
    if (run === undefined) return;
    this.#runs.delete(effect.id);
    this.#stop(run);
  }

  requestPause(effect: RequestPause): void {
    this.#present(effect)?.requestPause();
  }

  retryNow(effect: RetryNow): void {
    this.#present(effect)?.retryNow();
  }

  status(id: InvocationId): InvokerStatus | undefined {
    return this.#runs.get(id)?.status();
  }

  interrupt({ errorCode, message, nextRetryDelayMs }: Interruption): void {
    const cause = failure(errorCode, message, { countsForSdk: false, nextRetryDelayMs });
    for (const run of [...this.#runs.values()]) run.interrupt(cause);
  }

  cutAttempt(id: InvocationId): CutAttempt | undefined {
    return this.#runs.get(id)?.cut();
  }

  *attempts(): Iterable<RunningAttempt> {
    for (const [id, run] of this.#runs) {
      if (run.isAttempting) yield { id, blockage: run.blockage, suspend: () => run.suspendBlocked() };
    }
  }

  *statuses(): Iterable<InvokerStatus> {
    for (const run of this.#runs.values()) yield run.status();
  }

  async finishAttempts(): Promise<void> {
    const { clock } = this.#context;
    this.#isFinishing = true;
    while (!this.#disposed && this.#finishSome())
      await new Promise<void>((resolve) => clock.setTimer(FINISH_INTERVAL_MS, resolve));
  }

  /** Whether attempts run; runs that wait for an attempt are dropped. */
  #finishSome(): boolean {
    let isAnyAttempting = false;
    for (const [id, run] of this.#runs) {
      if (run.isAttempting) {
        isAnyAttempting = true;
        if (run.blockedSinceMs() !== undefined) run.suspendBlocked();
      } else {
        this.#runs.delete(id);
        run.abandon();
      }
    }
    return isAnyAttempting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    for (const run of this.#runs.values()) run.abandon();
    for (const run of this.#draining) run.abandon();
    this.#runs.clear();
    this.#draining.clear();
  }

  #stop(run: Run): void {
    run.stop();
    if (run.draining) this.#draining.add(run);
  }

  #present({ id, run: number }: { readonly id: InvocationId; readonly run: number }): Run | undefined {
    const run = this.#runs.get(id);
    return run !== undefined && run.number === number ? run : undefined;
  }
}

/** A run whose service has used up its share of starts: it starts at its service's turn, unless it was stopped before. */
class DelayedStart implements ShareMember {
  readonly isWaiting = false;
  readonly #run: Run;
  readonly #isActive: () => boolean;

  constructor(run: Run, isActive: () => boolean) {
    this.#run = run;
    this.#isActive = isActive;
  }

  serve(): number {
    if (this.#isActive()) this.#run.start();
    return 1;
  }
}
