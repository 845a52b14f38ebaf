/**
 * HTTP API to drain a worker. A worker that is to be removed gives its partitions away one by one while it still runs, so that each
 * pauses for moments only. An operator requests that before it removes the pod, and may cancel it; a drained node requests it by a hook
 * that can only GET. Correctness does not depend on it: a new leader fences the old one.
 *
 *     POST /drain      begins to give partitions away
 *     GET /drain       progress, and the work that would be interrupted
 *     DELETE /drain    cancels the drain
 *     GET /prestop     begins for good, responds when no partition is left
 */
import type { ServerResponse } from "node:http";
import type { Clock, Logger } from "@perdure/base";
import type { ProbeEndpoints } from "@perdure/process-kit/http";
import type { ClusterWorker } from "../cluster/cluster-worker.js";
import type { Activity, ActivityMonitor } from "./activity-monitor.js";
import { answer } from "./probe-answer.js";

/** The body of `/drain` responses. */
interface DrainReport extends Partial<Activity> {
  readonly draining: boolean;
  /** Seconds since the drain began; 0 when it has not. */
  readonly drainingSeconds: number;
  /** Partitions whose lease this worker still holds. */
  readonly partitions: number;
  /** Persistence status of Redis; absent before the first read. */
  readonly logBytes?: number;
}

/** Bytes of the append-only file of Redis, as it last reported them; undefined before the first read. */
export type LogBytes = () => number | undefined;

/** The responses before the worker leads anything: there is nothing to give away. */
export function startingDrainAnswers(logBytes: LogBytes): ProbeEndpoints {
  return {
    "/drain": ({ method }, res) => {
      if (!isDrainMethod(method)) return refuseDrainMethod(res);
      if (method !== "GET") return answer(res, 503, { reason: "no partition is led yet" });
      answer(res, 200, drainReport({ draining: false, drainingSeconds: 0, partitions: 0 }, logBytes));
    },
    "/prestop": ({ method }, res) => {
      if (method !== "GET") return answer(res, 405, { reason: "GET" });
      answer(res, 200, DRAINED);
    },
  };
}

interface DrainAnswerPorts {
  readonly worker: Pick<ClusterWorker, "heldCount" | "drain" | "standDown" | "stay" | "isDraining">;
  readonly activityMonitor: Pick<ActivityMonitor, "activity">;
  readonly logBytes: LogBytes;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function drainAnswers({ worker, activityMonitor, logBytes, clock, logger }: DrainAnswerPorts): ProbeEndpoints {
  let sinceMs: number | undefined;
  const report = async (): Promise<DrainReport> => {
    const draining = worker.isDraining();
    if (draining) sinceMs ??= clock.monotonicMs();
    const drainingSeconds = draining ? Math.floor((clock.monotonicMs() - (sinceMs ?? 0)) / 1000) : 0;
    const facts = drainReport({ draining, drainingSeconds, partitions: worker.heldCount() }, logBytes);
    return { ...facts, ...(await activityMonitor.activity()) };
  };
  const respond = (res: ServerResponse): void => {
    report().then(
      (body) => answer(res, 200, body),
      (cause: unknown) => {
        logger.warn({ cause }, "the next due time cannot be read");
        answer(res, 503, { reason: "the store does not answer" });
      },
    );
  };
  return {
    "/drain": ({ method }, res) => {
      if (!isDrainMethod(method)) return refuseDrainMethod(res);
      if (method === "POST" && !worker.isDraining()) {
        logger.info({}, "requested to hand over all partitions");
        worker.standDown();
        sinceMs = clock.monotonicMs();
      }
      if (method === "DELETE" && worker.isDraining()) {
        worker.stay();
        if (!worker.isDraining()) {
          logger.info({}, "drain cancelled");
          sinceMs = undefined;
        }
      }
      respond(res);
    },
    "/prestop": ({ method }, res) => {
      if (method !== "GET") return answer(res, 405, { reason: "GET" });
      worker.drain().then(
        () => answer(res, 200, DRAINED),
        (cause: unknown) => {
          logger.error({ cause }, "giving partitions away failed");
          answer(res, 500, { reason: "giving partitions away failed" });
        },
      );
    },
  };
}

const DRAINED = { draining: true, partitions: 0 };

function drainReport(facts: DrainReport, logBytes: LogBytes): DrainReport {
  const bytes = logBytes();
  return bytes === undefined ? facts : { ...facts, logBytes: bytes };
}

function isDrainMethod(method: string | undefined): boolean {
  return method === "GET" || method === "POST" || method === "DELETE";
}

function refuseDrainMethod(res: ServerResponse): void {
  answer(res, 405, { reason: "GET, POST or DELETE" });
}
