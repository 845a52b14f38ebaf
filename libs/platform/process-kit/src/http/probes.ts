/** Answers probes and scrapes on a port of their own, for roles whose main port is not open to orchestrators, or not HTTP. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, type Logger, NO_COMMIT } from "@perdure/base";
import { createHttpPort } from "@perdure/http-server";
import type { HealthReport } from "../health.js";
import { PROBES_DRAIN_MS } from "../limits.js";
import { type BoundListener, type ListenerSettings, openListener } from "./listener.js";

interface ProbePorts {
  readonly health: () => HealthReport;
  /** For a process that makes data durable: while its commits fail it is not ready. */
  readonly isCommitting?: () => Promise<boolean>;
  /** Text in the Prometheus exposition format. */
  readonly metrics: () => string | Promise<string>;
  /** Further endpoints of a role, by path; they check the method themselves. */
  readonly more?: Readonly<Record<string, (req: IncomingMessage, res: ServerResponse) => void>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The answer to all other paths. */
export interface Elsewhere {
  readonly status: number;
  readonly text: string;
}

const NOTHING_ELSE: Elsewhere = { status: 404, text: "there are /livez, /readyz and /metrics\n" };

/** `/livez`, `/readyz` (503 with the names of the parts that are not ready) and `/metrics`. Rejects with RT0004. */
export function openProbes(
  settings: ListenerSettings,
  { health, isCommitting = ALWAYS, metrics, more = {}, clock, logger }: ProbePorts,
  elsewhere = NOTHING_ELSE,
): Promise<BoundListener> {
  const answers: Readonly<Record<string, (res: ServerResponse) => void>> = {
    "/livez": (res) => answer(res, health().live ? 200 : 503, health().live ? "live\n" : "failed\n"),
    "/readyz": (res) => {
      const { ready, waitingFor } = health();
      if (!ready) return answer(res, 503, `waiting for: ${waitingFor.join(", ")}\n`);
      void isCommitting().then((isDurable) =>
        isDurable ? answer(res, 200, "ready\n") : answer(res, 503, `waiting for: ${NO_COMMIT}\n`),
      );
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
        const own = Object.hasOwn(more, path) ? more[path] : undefined;
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
  return openListener(settings, (address) => port.listen(address), close).then((listener) => ({
    port: listener.port,
    [Symbol.asyncDispose]: close,
  }));
}

const ALWAYS = (): Promise<boolean> => Promise.resolve(true);

function answer(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  res.end(text);
}
