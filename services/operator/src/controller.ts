/**
 * Runs reconciles. Names of objects arrive from changes, timers and failures. A few objects are reconciled at a time, and one object never
 * twice at once. An error is counted, logged and retried later; it never ends the process (kubernetes.md §3.1, §3.3).
 */
import { type Clock, causeCode, type Logger, PerdureError } from "@perdure/base";
import { type AcquiredKey, KubernetesApiError, type Priority, WorkQueue, type WorkQueueOptions } from "@perdure/kubernetes";
import type { Edge, EdgeOperation } from "@perdure/telemetry";
import { PARTS_DEBOUNCE_MS, QUIET_FAILURES, WORKERS, WORKERS_FOR_CHANGES } from "./limits.js";
import type { OperatorMetrics, ReconciledKind, ReconcileError } from "./metrics.js";

interface ControllerPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: OperatorMetrics;
  /** Starts a span for each reconcile; undefined: no tracing. */
  readonly edge?: Edge | undefined;
}

export interface ControllerOptions extends WorkQueueOptions {
  readonly workers?: number;
}

/** An object to reconcile and its priority. */
export type Named = readonly [name: string, priority: Priority];

export type ReconcileResult = { readonly kind: "ok" } | { readonly kind: "wait"; readonly againMs: number };

export class Controller {
  readonly #kind: ReconciledKind;
  readonly #reconcile: (name: string, signal: AbortSignal, priority: Priority) => Promise<ReconcileResult>;
  readonly #ports: ControllerPorts;
  readonly #options: ControllerOptions;
  #queue: WorkQueue;
  /** Start times of the reconciles that are running. */
  readonly #running = new Set<number>();
  #isRunning = false;

  constructor(
    kind: ReconciledKind,
    reconcile: (name: string, signal: AbortSignal, priority: Priority) => Promise<ReconcileResult>,
    ports: ControllerPorts,
    options: ControllerOptions,
  ) {
    this.#kind = kind;
    this.#reconcile = reconcile;
    this.#ports = ports;
    this.#options = options;
    this.#queue = new WorkQueue(ports.clock, options);
    ports.metrics.observed.controllers.push(this);
  }

  get kind(): ReconciledKind {
    return this.#kind;
  }

  get depth(): number {
    return this.#queue.depth;
  }

  get longestRunningMs(): number {
    const nowMs = this.#ports.clock.monotonicMs();
    return nowMs - Math.min(nowMs, ...this.#running);
  }

  /** Ignored while this process does not lead: a new leader begins with all objects. */
  enqueue(name: string, priority: Priority): void {
    if (this.#isRunning) this.#queue.add(name, priority);
  }

  /** A part or the status of it has changed, and others are likely to change in the same moment. */
  enqueueForParts(name: string): void {
    if (this.#isRunning) this.#queue.addAfter(name, PARTS_DEBOUNCE_MS, "progress");
  }

  /** Reconciles `all` and everything that is enqueued until the signal fires, then resolves when the running reconciles have ended. */
  async run(all: Iterable<Named>, signal: AbortSignal): Promise<void> {
    const workers = this.#options.workers ?? WORKERS;
    const bulkAtOnce = Math.max(1, workers - WORKERS_FOR_CHANGES);
    const queue = new WorkQueue(this.#ports.clock, { bulkAtOnce, ...this.#options });
    this.#queue = queue;
    this.#isRunning = true;
    for (const [name, priority] of all) queue.add(name, priority);
    const close = (): void => queue.close();
    signal.addEventListener("abort", close, { once: true });
    if (signal.aborted) close();
    await Promise.all(Array.from({ length: workers }, () => this.#work(queue, signal)));
    signal.removeEventListener("abort", close);
    this.#isRunning = false;
  }

  async #work(queue: WorkQueue, signal: AbortSignal): Promise<void> {
    for (;;) {
      const item = await queue.take();
      if (item === undefined) return;
      await this.#one(queue, item, signal);
      queue.done(item.key);
    }
  }

  #endSpan(span: EdgeOperation | undefined, key: string, result: string, error: string | undefined): void {
    if (span === undefined) return;
    const namespace = namespaceOf(this.#kind, key);
    const place = namespace === undefined ? {} : { "k8s.namespace.name": namespace };
    const attributes = { ...place, "perdure.reconcile.result": result };
    span.note({ name: `reconcile ${this.#kind}`, attributes });
    span.end(error);
  }

  /** Start times must be unique: reconciles that start at the same moment differ by less than any metric shows. */
  #begin(atMs: number): number {
    let startedAt = atMs;
    while (this.#running.has(startedAt)) startedAt += 1e-3;
    this.#running.add(startedAt);
    return startedAt;
  }

  async #one(queue: WorkQueue, { key, waitedMs, priority }: AcquiredKey, signal: AbortSignal): Promise<void> {
    const { clock, metrics, logger } = this.#ports;
    const kind = this.#kind;
    metrics.queueWait.observe(waitedMs / 1000, kind, priority);
    const startedAt = this.#begin(clock.monotonicMs());
    const span = this.#ports.edge?.begin(undefined, false);
    try {
      const result = await (span === undefined
        ? this.#reconcile(key, signal, priority)
        : span.run(() => this.#reconcile(key, signal, priority)));
      this.#endSpan(span, key, result.kind, undefined);
      queue.clearFailures(key);
      if (result.kind === "wait") queue.addAfter(key, result.againMs);
      metrics.reconciles.inc(kind, result.kind);
    } catch (cause) {
      if (signal.aborted) return; // Interrupted; the next leader reconciles everything.
      const error = errorOf(cause);
      this.#endSpan(span, key, "error", error);
      metrics.reconciles.inc(kind, "error");
      metrics.reconcileErrors.inc(kind, error);
      metrics.queueRetries.inc(kind);
      const fields = { kind, name: key, error, cause, failures: queue.failuresOf(key) + 1 };
      if (error === "bug" || queue.failuresOf(key) >= QUIET_FAILURES) logger.error(fields, "reconciling failed; trying again");
      else logger.info(fields, "reconciling failed; trying again");
      queue.retry(key, cause instanceof KubernetesApiError ? cause.retryAfterMs : undefined);
    } finally {
      this.#running.delete(startedAt);
      metrics.reconcileDuration.observe((clock.monotonicMs() - startedAt) / 1000, kind);
    }
  }
}

/** Keys are `namespace/name`, or the name of what is in no namespace; but an environment has one of its own, of its name. */
function namespaceOf(kind: ReconciledKind, key: string): string | undefined {
  const slash = key.indexOf("/");
  if (slash !== -1) return key.slice(0, slash);
  return kind === "Environment" ? key : undefined;
}

function errorOf(cause: unknown): ReconcileError {
  if (cause instanceof KubernetesApiError) {
    if (cause.status === 409) return "conflict";
    if (cause.status === 403 || cause.status === 401) return "forbidden";
    if (cause.status === 404) return "notFound";
    if (cause.status === 429) return "throttled";
    return cause.status >= 500 ? "server" : "invalid";
  }
  // Errors of sockets have a code; errors of our own bugs have none.
  return causeCode(cause) !== undefined && !(cause instanceof PerdureError) ? "transport" : "bug";
}
