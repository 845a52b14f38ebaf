/**
 * Workers without processes: the operator requests reports from workers, but pods in these suites only have a status. Each worker pod gets
 * an address below 127.0.0.0/8, where the test responds.
 */
import { createServer, type Server } from "node:http";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { PORTS } from "../src/desired/network-policies.js";
import type { WorkerReport } from "../src/worker-client.js";
import type { Kubelet } from "./kubelet.js";

export interface FakeWorker {
  /** The requests, oldest first. */
  readonly requests: string[];
  report: WorkerReport;
  /** The mark of the data set that it misses; undefined: its data are there. */
  missingMark: string | undefined;
  isDeaf: boolean;
}

export class FakeWorkers implements AsyncDisposable {
  readonly #servers: Server[] = [];
  readonly #subnet = `127.${64 + (process.pid % 128)}.${Math.floor(process.hrtime()[1] / 1000) % 256}`;

  /**
   * From now on worker pods have a server that responds, at first with this report. The returned function gives access to the server of an
   * environment's worker.
   */
  async place(
    kubelet: Kubelet,
    report: Partial<WorkerReport>,
  ): Promise<(environment: EnvironmentResource, ordinal: number) => FakeWorker> {
    const pods = new Map<string, Promise<{ readonly address: string; readonly worker: FakeWorker }>>();
    const latest = new Map<string, FakeWorker>();
    kubelet.placePods(async ({ metadata: { name, namespace, uid = "" } }) => {
      if (!name.startsWith("worker-")) return undefined;
      const placed = pods.get(uid) ?? this.#listen(report);
      pods.set(uid, placed);
      const { address, worker } = await placed;
      latest.set(`${namespace}/${name}`, worker);
      return address;
    });
    return ({ metadata }, ordinal) => {
      const worker = latest.get(`${metadata.name}/worker-${ordinal}`);
      if (worker === undefined) throw new Error(`worker-${ordinal} of ${metadata.name} was never placed`);
      return worker;
    };
  }

  /** Listens at a new address. */
  async #listen(report: Partial<WorkerReport>): Promise<{ readonly address: string; readonly worker: FakeWorker }> {
    const address = `${this.#subnet}.${this.#servers.length + 1}`;
    const worker: FakeWorker = { requests: [], report: { ...QUIET, ...report }, missingMark: undefined, isDeaf: false };
    const server = createServer((req, res) => {
      worker.requests.push(`${req.method} ${req.url}`);
      if (worker.isDeaf) {
        res.destroy();
        return;
      }
      const url = new URL(req.url ?? "/", "http://worker");
      if (url.pathname === "/accept-data-loss") {
        const isRight = url.searchParams.get("mark") === worker.missingMark;
        res.statusCode = isRight ? 200 : 409;
        res.end(JSON.stringify(isRight ? { kind: "accepted" } : { reason: `the mark is ${worker.missingMark ?? "none"}` }));
        return;
      }
      if (req.method === "POST") worker.report = { ...worker.report, draining: true };
      if (req.method === "DELETE") worker.report = { ...worker.report, draining: false };
      res.end(JSON.stringify(worker.report));
    });
    this.#servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(PORTS.probes, address, () => resolve());
    });
    return { address, worker };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

/** Nothing has happened for a long time, and nothing will. */
export const QUIET: WorkerReport = {
  draining: false,
  drainingSeconds: 0,
  partitions: 0,
  inFlight: false,
  readySeconds: 0,
  idleSeconds: 100_000,
  timerDueAtMs: null,
  scheduleDueAtMs: null,
  subscriptions: 0,
};
