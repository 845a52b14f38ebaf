/**
 * A local port that forwards to an environment's ingress or admin API and adds the credential to each request. Every caller of the port
 * has the permissions of the credential, so the port listens on loopback by default (cloud.md §2.9).
 */
import { type Agent, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP } from "node:net";
import { PerdureError, silentLogger, systemClock } from "@perdure/base";
import { createHttpPort } from "@perdure/http-server";
import { LOCAL_SOCKETS_MAX } from "../limits.js";
import { RemoteRequest } from "./remote-request.js";

export type RemotePortEvent =
  /** One request; `status` 0: it failed before an answer. `path` without query. */
  { readonly kind: "request"; readonly method: string; readonly path: string; readonly status: number };

interface RemotePortOptions {
  /** 0 binds a free port. */
  readonly port: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Required for a host that other machines can reach. */
  readonly bindInsecure?: boolean | undefined;
  /** Origin of the environment's ingress or admin address. */
  readonly target: string;
  /** Called for each request; replaces the caller's `Authorization`. */
  readonly credential: () => Promise<string>;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
  readonly onEvent?: ((event: RemotePortEvent) => void) | undefined;
  /** Shorter in tests. */
  readonly headersTimeoutMs?: number | undefined;
}

export interface RemotePort extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
}

/** Rejects with OPS0001 when other machines could reach the port, RT0004 when the address cannot be bound. */
export async function openRemotePort(options: RemotePortOptions): Promise<RemotePort> {
  const host = options.host ?? "127.0.0.1";
  if (!isLoopback(host) && options.bindInsecure !== true) {
    throw new PerdureError(
      "OPS0001",
      `${host} is reachable from other machines, which could act with your credential; allow it explicitly`,
    );
  }
  const target = new URL(options.target);
  const agent = agentFor(target, options.ca);
  const { credential, onEvent, headersTimeoutMs } = options;
  const port = createHttpPort(
    { exchange: (exchange) => void new RemoteRequest(exchange, { target, agent, credential, onEvent }).start() },
    { clock: systemClock, logger: silentLogger },
    { requestTimeoutMs: 0, ...(headersTimeoutMs === undefined ? {} : { headersTimeoutMs }) },
  );
  const address = await port.listen({ host, port: options.port });
  return {
    port: address.port,
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    async [Symbol.asyncDispose]() {
      const closed = port.close(0);
      agent.destroy();
      await closed;
    },
  };
}

function agentFor({ protocol }: URL, ca: string | undefined): Agent {
  const shared = { keepAlive: true, maxFreeSockets: LOCAL_SOCKETS_MAX };
  return protocol === "https:" ? new HttpsAgent({ ...shared, ...(ca === undefined ? {} : { ca }) }) : new HttpAgent(shared);
}

function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}
