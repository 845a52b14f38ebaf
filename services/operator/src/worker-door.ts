/**
 * Why: workers say themselves how far they are with giving partitions away, and whether anything is going on; they are asked at the port of
 * their probes, by the address of the pod. Who does not answer soon, or with anything else than expected, does not answer.
 */
import { request } from "node:http";
import { z } from "zod";
import { PORTS } from "./desired/network-policies.js";
import { WORKER_ANSWER_BYTES_MAX, WORKER_ANSWER_MS_MAX } from "./limits.js";

const count = z.number().int().min(0);
const dueAtMs = z.number().min(0).nullable();

/** As workers answer at `/drain`; what an older or younger one says besides is not looked at. */
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
export interface WorkerDoor {
  /** How it is. */
  look(address: string, signal: AbortSignal): Promise<WorkerReport | undefined>;
  /** It gives its partitions away from now on. */
  drain(address: string, signal: AbortSignal): Promise<WorkerReport | undefined>;
  /** It may stay after all. */
  stay(address: string, signal: AbortSignal): Promise<WorkerReport | undefined>;
}

export const workerDoor: WorkerDoor = {
  look: (address, signal) => ask("GET", address, signal),
  drain: (address, signal) => ask("POST", address, signal),
  stay: (address, signal) => ask("DELETE", address, signal),
};

function ask(method: "GET" | "POST" | "DELETE", host: string, signal: AbortSignal): Promise<WorkerReport | undefined> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(WORKER_ANSWER_MS_MAX)]);
  return new Promise((resolve) => {
    const nobody = (): void => resolve(undefined);
    const asked = request({ method, host, port: PORTS.probes, path: "/drain", agent: false, signal: deadline }, (answer) => {
      const chunks: Buffer[] = [];
      let length = 0;
      answer.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > WORKER_ANSWER_BYTES_MAX) asked.destroy();
        else chunks.push(chunk);
      });
      answer.on("error", nobody);
      answer.on("close", nobody);
      answer.on("end", () => resolve(answer.statusCode === 200 ? parsed(Buffer.concat(chunks).toString()) : undefined));
    });
    asked.on("error", nobody);
    asked.end();
  });
}

function parsed(text: string): WorkerReport | undefined {
  try {
    return report.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // No JSON: not one of our workers.
  }
}
