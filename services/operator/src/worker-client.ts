/**
 * Requests reports from workers: how far they have drained, and whether they are active. It connects to the port of the probes at the pod's
 * address. A late or malformed response counts as none.
 */
import { request } from "node:http";
import { z } from "zod";
import { PORTS } from "./desired/network-policies.js";
import { WORKER_ANSWER_BYTES_MAX, WORKER_ANSWER_MS_MAX } from "./limits.js";

const count = z.number().int().min(0);
const dueAtMs = z.number().min(0).nullable();

/** Response of `/drain`; fields that other versions add are ignored. */
const report = z.object({
  draining: z.boolean(),
  drainingSeconds: z.number().min(0),
  partitions: count,
  inFlight: z.boolean().optional(),
  readySeconds: z.number().min(0).optional(),
  idleSeconds: z.number().min(0).optional(),
  timerDueAtMs: dueAtMs.optional(),
  scheduleDueAtMs: dueAtMs.optional(),
  subscriptions: count.optional(),
  logBytes: count.optional(),
});

export type WorkerReport = z.output<typeof report>;

/** Each resolves with undefined when there is no answer, and never rejects. */
export interface WorkerClient {
  /** Reads the worker's report. */
  readReport(address: string, signal: AbortSignal): Promise<WorkerReport | undefined>;
  /** Starts draining: the worker hands its partitions over. */
  drain(address: string, signal: AbortSignal): Promise<WorkerReport | undefined>;
  /** Cancels draining. */
  stay(address: string, signal: AbortSignal): Promise<WorkerReport | undefined>;
}

type LossAnswer =
  | { readonly kind: "accepted" | "acceptedBefore" }
  /** Another mark is missing, or none. */
  | { readonly kind: "refused"; readonly reason: string };

export interface DataLossClient {
  /** The data set with this mark is lost for good. Undefined when it does not answer, or cannot now; never rejects. */
  acceptLoss(address: string, mark: string, signal: AbortSignal): Promise<LossAnswer | undefined>;
}

export const httpWorkerClient: WorkerClient & DataLossClient = {
  readReport: (address, signal) => drainReport("GET", address, signal),
  drain: (address, signal) => drainReport("POST", address, signal),
  stay: (address, signal) => drainReport("DELETE", address, signal),
  async acceptLoss(address, mark, signal) {
    const path = `/accept-data-loss?mark=${encodeURIComponent(mark)}`;
    const answer = await send({ method: "POST", host: address, path }, signal);
    if (answer?.status === 200) return parsed(accepted, answer.text);
    const refusal = answer?.status === 409 ? parsed(refused, answer.text) : undefined;
    return refusal === undefined ? undefined : { kind: "refused", reason: refusal.reason.slice(0, REASON_CHARS_MAX) };
  },
};

const accepted = z.object({ kind: z.enum(["accepted", "acceptedBefore"]) });
const refused = z.object({ reason: z.string() });
/** Longest reason, for a condition's message. */
const REASON_CHARS_MAX = 1_000;

async function drainReport(
  method: "GET" | "POST" | "DELETE",
  host: string,
  signal: AbortSignal,
): Promise<WorkerReport | undefined> {
  const answer = await send({ method, host, path: "/drain" }, signal);
  return answer?.status === 200 ? parsed(report, answer.text) : undefined;
}

interface WorkerResponse {
  readonly status: number;
  readonly text: string;
}

function send(
  { method, host, path }: { readonly method: string; readonly host: string; readonly path: string },
  signal: AbortSignal,
): Promise<WorkerResponse | undefined> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(WORKER_ANSWER_MS_MAX)]);
  return new Promise((resolve) => {
    const giveUp = (): void => resolve(undefined);
    const outgoing = request({ method, host, port: PORTS.probes, path, agent: false, signal: deadline }, (answer) => {
      const chunks: Buffer[] = [];
      let length = 0;
      answer.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > WORKER_ANSWER_BYTES_MAX) outgoing.destroy();
        else chunks.push(chunk);
      });
      answer.on("error", giveUp);
      answer.on("close", giveUp);
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    outgoing.on("error", giveUp);
    outgoing.end();
  });
}

function parsed<S extends z.ZodType>(schema: S, text: string): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // No JSON: not one of our workers.
  }
}
