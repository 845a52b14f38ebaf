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
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock, Logger } from "@perdure/base";
import type { ClusterWorker } from "../cluster/cluster-worker.js";
import type { Activity, ActivityMonitor } from "./activity-monitor.js";

/** The body of `/drain` responses. */
interface DrainReport extends Partial<Activity> {
  readonly draining: boolean;
  /** Milliseconds since the drain began; 0 when it has not. */
  readonly drainingSeconds: number;
  /** Partitions whose lease this worker still holds. */
  readonly partitions: number;
  /** Persistence status of Redis; absent before the first read. */
  readonly logBytes?: number;
}

interface DrainAnswerPorts {
  /** Undefined before any partition is led. */
  readonly worker: () => Pick<ClusterWorker, "heldCount" | "drain" | "standDown" | "stay" | "isDraining"> | undefined;
  readonly activityMonitor: ActivityMonitor;
  /** Last status that Redis reported. */
  readonly logBytes: () => number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

type ProbeHandler = (req: IncomingMessage, res: ServerResponse) => void;

export function drainAnswers({
  worker,
  activityMonitor,
  logBytes,
  clock,
  logger,
}: DrainAnswerPorts): Readonly<Record<"/drain" | "/prestop", ProbeHandler>> {
  let sinceMs: number | undefined;
  const report = async (): Promise<DrainReport> => {
    const draining = worker()?.isDraining() === true;
    if (draining) sinceMs ??= clock.monotonicMs();
    const drainingSeconds = draining ? Math.floor((clock.monotonicMs() - (sinceMs ?? 0)) / 1000) : 0;
    const bytes = logBytes();
    const partitions = worker()?.heldCount() ?? 0;
    return {
      draining,
      drainingSeconds,
      partitions,
      ...(bytes === undefined ? {} : { logBytes: bytes }),
      ...(await activityMonitor.activity()),
    };
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
    "/drain": (req, res) => {
      const { method } = req;
      const present = worker();
      if (method !== "GET" && method !== "POST" && method !== "DELETE")
        return answer(res, 405, { reason: "GET, POST or DELETE" });
      if (method !== "GET" && present === undefined) return answer(res, 503, { reason: "no partition is led yet" });
      if (method === "POST" && present?.isDraining() === false) {
        logger.info({}, "requested to hand over all partitions");
        present.standDown();
        sinceMs = clock.monotonicMs();
      }
      if (method === "DELETE" && present?.isDraining() === true) {
        present.stay();
        if (!present.isDraining()) {
          logger.info({}, "drain cancelled");
          sinceMs = undefined;
        }
      }
      respond(res);
    },
    "/prestop": (req, res) => {
      if (req.method !== "GET") return answer(res, 405, { reason: "GET" });
      const drained = worker()?.drain() ?? Promise.resolve();
      drained.then(
        () => answer(res, 200, { draining: true, partitions: 0 }),
        (cause: unknown) => {
          logger.error({ cause }, "giving partitions away failed");
          answer(res, 500, { reason: "giving partitions away failed" });
        },
      );
    },
  };
}

function answer(res: ServerResponse, status: number, body: object): void {
  if (res.writableEnded || res.destroyed) return; // The client has disconnected.
  res.writeHead(status, { "content-type": "application/json" });
  res.end(`${JSON.stringify(body)}\n`);
}
