/** Answers probes and scrapes on a port of their own, for roles whose main port is not open to orchestrators, or not HTTP. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, type Logger, NO_COMMIT } from "@perdure/base";
import { createHttpPort } from "@perdure/http-server";
import type { CommitProbe } from "../commit-probe.js";
import type { HealthReport } from "../health.js";
import { PROBES_DRAIN_MS } from "../limits.js";
import { type BoundListener, type ListenerSettings, openListener } from "./listener.js";

/** Endpoints of a role, by path; they check the method themselves. */
export type ProbeEndpoints = Readonly<Record<string, (req: IncomingMessage, res: ServerResponse) => void>>;

interface ProbePorts {
  readonly health: () => HealthReport;
  /** Text in the Prometheus exposition format. */
  readonly metrics: () => string | Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Probes answer before the other parts of a process exist. What reports about a part is added once that part is there. */
export interface Probes extends BoundListener {
  /** Adds endpoints; one of the same path is replaced. */
  serve(endpoints: ProbeEndpoints): void;
  /** Check of a process that makes data durable: the process is not ready while its commits fail. */
  checkCommits(commits: Pick<CommitProbe, "isCommitting">): void;
}

/** The answer to all other paths. */
export interface Elsewhere {
  readonly status: number;
  readonly text: string;
}

const NOTHING_ELSE: Elsewhere = { status: 404, text: "there are /livez, /readyz and /metrics\n" };

/** `/livez`, `/readyz` (503 with the names of the parts that are not ready) and `/metrics`. Rejects with RT0004. */
export async function openProbes(
  settings: ListenerSettings,
  { health, metrics, clock, logger }: ProbePorts,
  elsewhere = NOTHING_ELSE,
): Promise<Probes> {
  const endpoints = new Map<string, ProbeEndpoints[string]>();
  let commits: Pick<CommitProbe, "isCommitting"> = NO_COMMITS;
  const answers: Readonly<Record<string, (res: ServerResponse) => void>> = {
    "/livez": (res) => answer(res, health().live ? 200 : 503, health().live ? "live\n" : "failed\n"),
    "/readyz": (res) => {
      const { ready, waitingFor } = health();
      if (!ready) return answer(res, 503, `waiting for: ${waitingFor.join(", ")}\n`);
      void commits
        .isCommitting()
        .then((isDurable) => (isDurable ? answer(res, 200, "ready\n") : answer(res, 503, `waiting for: ${NO_COMMIT}\n`)));
    },
    "/metrics": (res) => {
      Promise.resolve()
        .then(metrics)
        .then(
          (text) => answer(res, 200, text),
          (cause: unknown) => {
            logger.error({ cause }, "metrics could not be collected");
            answer(res, 500, "metrics could not be collected\n");
          },
        );
    },
  };
  const port = createHttpPort(
    {
      request(req, res) {
        req.resume(); // The body of a probe is not needed.
        const [path = "/"] = (req.url ?? "/").split("?");
        const own = endpoints.get(path);
        if (own !== undefined) return own(req, res);
        const match = Object.hasOwn(answers, path) ? answers[path] : undefined;
        if (match === undefined) return answer(res, elsewhere.status, elsewhere.text);
        if (req.method !== "GET" && req.method !== "HEAD") return answer(res, 405, "only GET\n");
        match(res);
      },
    },
    { clock, logger },
  );
  const close = (): Promise<void> => port.close(PROBES_DRAIN_MS);
  // Not drained: probes and scrapes are answered until the process ends.
  const listener = await openListener(settings, (address) => port.listen(address), close);
  return {
    port: listener.port,
    serve(added) {
      for (const [path, respond] of Object.entries(added)) endpoints.set(path, respond);
    },
    checkCommits(checked) {
      commits = checked;
    },
    [Symbol.asyncDispose]: close,
  };
}

const NO_COMMITS: Pick<CommitProbe, "isCommitting"> = { isCommitting: () => Promise.resolve(true) };

function answer(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  res.end(text);
}
