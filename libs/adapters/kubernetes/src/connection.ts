/**
 * Address and credentials of the cluster, read by the client library in all the ways that kubeconfigs and pods have. The library opens a
 * new connection for each request (decision 0049), so this file keeps connections for as long as the credentials of their handshake are
 * valid.
 */
import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { Agent, buildConnector } from "undici";
import { CONNECTION_IDLE_MS } from "./limits.js";

interface Access {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Agent;
}

export class ApiServerConnection implements AsyncDisposable {
  readonly #config: KubeConfig;
  readonly #check: () => void;
  #agent: { readonly of: string; readonly agent: Agent } | undefined;

  /** `check` runs when a connection is open, before anything is sent on it, and closes it by throwing. */
  constructor(config: KubeConfig, check: () => void) {
    this.#config = config;
    this.#check = check;
  }

  /** Called for each request, because tokens are read again shortly before they expire. Rejects when no cluster is configured. */
  async access(): Promise<Access> {
    const cluster = this.#config.getCurrentCluster();
    if (cluster === null) throw new Error("no cluster: neither a kubeconfig nor a pod's service account was found");
    const options: RequestOptions = {};
    await this.#config.applyToHTTPSOptions(options);
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
    if (typeof options.auth === "string") headers["authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
    return { origin: cluster.server.replace(/\/$/, ""), headers, dispatcher: this.#agentOf(options) };
  }

  #agentOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): Agent {
    const of = JSON.stringify([ca, cert, key, servername, rejectUnauthorized].map(String));
    if (this.#agent?.of === of) return this.#agent.agent;
    void this.#agent?.agent.close(); // Running requests end on the old connections.
    const connect = { ca, cert, key, servername, rejectUnauthorized, keepAlive: true, keepAliveInitialDelay: 30_000 };
    const given = Object.fromEntries(Object.entries(connect).filter(([, value]) => value !== undefined));
    // A connection for each request and watch (HTTP/1.1): an HTTP/2 client ended whole processes when an API server stopped at the wrong
    // moment.
    const connector = buildConnector({ ...given, allowH2: false });
    const agent = new Agent({
      allowH2: false,
      keepAliveTimeout: CONNECTION_IDLE_MS,
      connect: (options, callback) =>
        connector(options, (...made) => {
          const [failure, socket] = made;
          if (failure !== null) return callback(failure, null);
          try {
            this.#check();
          } catch (cause) {
            socket.destroy();
            return callback(cause instanceof Error ? cause : new Error(String(cause)), null);
          }
          callback(null, socket);
        }),
    });
    this.#agent = { of, agent };
    return agent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent?.agent.destroy();
  }
}
