/**
 * Reports failed passes. A pass that an error of the API server ends early (a webhook that does not respond, a storage that is down) writes
 * no status, so the object would show no problem. The failure is a condition of its own and does not change `Ready`, since running
 * processes continue.
 */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import { type Condition, observed } from "@perdure/custom-resources";
import {
  type EventRecorder,
  isForbidden,
  type KubeObject,
  KubernetesApiError,
  type KubernetesClient,
  type ObjectIdentity,
} from "@perdure/kubernetes";
import { MANAGER } from "./applier.js";
import type { ReconcileResult } from "./controller.js";
import { MESSAGE_CHARS_MAX, SLOW_ANSWER_MS, SLOW_WRITE_POLL_MS } from "./limits.js";

const FAILURE_CONDITION = "ReconcileFailed";
export const STATUS_MANAGER = `${MANAGER}-status`;

export interface FailureReportPorts {
  readonly client: Pick<KubernetesClient, "apply" | "pendingWrite">;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, "record">;
  readonly logger: Logger;
}

interface ReportedObject extends ObjectIdentity {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined };
}

/** Objects that are reconciled and have conditions. */
export interface ReportedKind {
  /** Returns an object that is at least as new as the operator's last write; undefined when it is deleted. */
  readonly current: (key: string) => ReportedObject | undefined;
  /** The status of an object that has none yet. */
  readonly firstStatus: Readonly<Record<string, unknown>>;
  readonly onWritten?: (object: KubeObject) => void;
}

interface ReconcileFailure {
  readonly reason: "ApiServerError" | "ApiServerSlow" | "Forbidden";
  /** Prefix of the message that identifies the same failure. */
  readonly same: string;
  readonly message: string;
}

type ReconcileFunction = (signal: AbortSignal) => Promise<ReconcileResult>;

/**
 * Runs one pass. When the API server responds with a 5xx, or with an unexpected refusal, the condition `ReconcileFailed` gets the request
 * and the response before this rejects with it. While a write has no response for `SLOW_ANSWER_MS` (the API server waits for a webhook, for
 * up to 30 s) the condition has the request. The next pass that completes removes the condition.
 */
export async function reportingFailures(
  key: string,
  kind: ReportedKind,
  ports: FailureReportPorts,
  signal: AbortSignal,
  pass: ReconcileFunction,
): Promise<ReconcileResult> {
  const reports = new FailureReports(key, kind, ports, signal);
  const own = AbortSignal.any([signal]); // A signal of this pass alone, by which the client assigns its writes to it.
  const stopWatching = reports.watch(own);
  try {
    return await pass(own);
  } catch (cause) {
    if (cause instanceof KubernetesApiError && (cause.status >= 500 || isForbidden(cause)) && !signal.aborted)
      await reports.report(failureOf(cause));
    throw cause;
  } finally {
    stopWatching();
  }
}

const failureOf = (cause: KubernetesApiError): ReconcileFailure => ({
  reason: isForbidden(cause) ? "Forbidden" : "ApiServerError",
  same: `${cause.operation}: ${cause.status} `,
  message: cause.message,
});

class FailureReports {
  readonly #key: string;
  readonly #kind: ReportedKind;
  readonly #ports: FailureReportPorts;
  readonly #signal: AbortSignal;

  constructor(key: string, kind: ReportedKind, ports: FailureReportPorts, signal: AbortSignal) {
    this.#key = key;
    this.#kind = kind;
    this.#ports = ports;
    this.#signal = signal;
  }

  /** Reports the first write of a pass without a response for too long. Returns a function that ends the check. */
  watch(pass: AbortSignal): () => void {
    const { client, clock } = this.#ports;
    let timer: TimerHandle;
    const check = (): void => {
      const pending = client.pendingWrite(pass);
      if (pending === undefined || pending.forMs < SLOW_ANSWER_MS) {
        timer = clock.setTimer(SLOW_WRITE_POLL_MS, check);
        return;
      }
      const message = `${pending.operation}: no response for ${SLOW_ANSWER_MS / 1000} s; the API server or a webhook that it calls does not respond`;
      // An existing failure report has more detail.
      void this.report({ reason: "ApiServerSlow", same: "", message });
    };
    timer = clock.setTimer(SLOW_WRITE_POLL_MS, check);
    return () => timer.cancel();
  }

  /** Never rejects: a failing API server may refuse this write, too, and the pass is retried anyway. */
  async report(failure: ReconcileFailure): Promise<void> {
    try {
      const object = this.#kind.current(this.#key);
      if (object === undefined || isReported(object, failure)) return;
      await this.#write(object, failure);
    } catch (cause) {
      this.#ports.logger.info({ name: this.#key, cause }, "the failure of a reconcile could not be written into the status");
    }
  }

  async #write(object: ReportedObject, { reason, message }: ReconcileFailure): Promise<void> {
    const { client, clock, events } = this.#ports;
    const { apiVersion, kind, metadata } = object;
    const { conditions: existing = [], ...before } = object.status ?? {};
    const time = new Date(clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
    const observation = {
      type: FAILURE_CONDITION,
      status: "True",
      reason,
      message: message.slice(0, MESSAGE_CHARS_MAX),
    } as const;
    const failed = observed(existing, [observation], { generation: metadata.generation ?? 0, time });
    const conditions = [...existing.filter(({ type }) => type !== FAILURE_CONDITION), ...failed];
    const { name, namespace, uid } = metadata;
    const own = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) };
    // All of the status belongs to this manager: what is left out would be removed.
    const applied = { apiVersion, kind, metadata: own, status: { ...this.#kind.firstStatus, ...before, conditions } };
    const options = { manager: STATUS_MANAGER, force: true, subresource: "status", signal: this.#signal } as const;
    // Awaited first: an optional call that is skipped would not evaluate its arguments.
    const written = await client.apply(applied, options);
    this.#kind.onWritten?.(written);
    await events.record(object, { type: "Warning", reason, action: "Reconcile", note: message });
  }
}

/** The same failure is written once: a status that changes with every failure would trigger the queue without a pause. */
function isReported({ status }: ReportedObject, { same }: ReconcileFailure): boolean {
  const condition = status?.conditions?.find(({ type }) => type === FAILURE_CONDITION);
  return condition?.message.startsWith(same) === true;
}
