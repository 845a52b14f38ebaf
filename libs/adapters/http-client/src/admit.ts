/**
 * Connections of a guarded transport: the guard must admit each connection, and counts it until it is closed. Without a guard nothing of
 * this runs.
 */
import { type AgentOptions, type ClientRequestArgs, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Duplex } from "node:stream";
import { type EgressAdmission, EgressDenied, type EgressGuard } from "@perdure/egress";
import type { TransportFailure } from "@perdure/endpoint-transport";
import { deniedFailure } from "./failures.js";

type RefusedAdmission = Exclude<EgressAdmission, { kind: "admitted" }>;

export function refusedFailure({ kind }: RefusedAdmission, authority: string): TransportFailure {
  return kind === "denied" ? deniedFailure() : { kind: "connect", message: fullMessage(authority) };
}

/** The refusal as an error of a connection. */
function refusedError({ kind }: RefusedAdmission, authority: string): Error {
  return kind === "denied" ? new EgressDenied() : new Error(fullMessage(authority));
}

function fullMessage(authority: string): string {
  return `there are too many connections to ${authority}`;
}

type SocketCallback = (error: Error | null, socket: Duplex) => void;
type Connect = (options: ClientRequestArgs) => Duplex | null | undefined;

class GuardedHttpAgent extends HttpAgent {
  readonly #guard: EgressGuard;

  constructor(options: AgentOptions, guard: EgressGuard) {
    super(options);
    this.#guard = guard;
  }

  override createConnection(options: ClientRequestArgs, created?: SocketCallback): Duplex | null | undefined {
    return connectAdmitted(this.#guard, "http", options, created, (admitted) => super.createConnection(admitted));
  }
}

class GuardedHttpsAgent extends HttpsAgent {
  readonly #guard: EgressGuard;

  constructor(options: AgentOptions & { readonly ca?: string }, guard: EgressGuard) {
    super(options);
    this.#guard = guard;
  }

  override createConnection(options: ClientRequestArgs, created?: SocketCallback): Duplex | null | undefined {
    return connectAdmitted(this.#guard, "https", options, created, (admitted) => super.createConnection(admitted));
  }
}

/** Sockets of HTTP/1.1: Node's agents, guarded when there is a guard. */
export function agentsOf(options: AgentOptions, ca: string | undefined, guard: EgressGuard | undefined) {
  const secureOptions = ca === undefined ? options : { ...options, ca };
  return guard === undefined
    ? { http: new HttpAgent(options), https: new HttpsAgent(secureOptions) }
    : { http: new GuardedHttpAgent(options, guard), https: new GuardedHttpsAgent(secureOptions, guard) };
}

function connectAdmitted(
  guard: EgressGuard,
  scheme: "http" | "https",
  options: ClientRequestArgs,
  created: SocketCallback | undefined,
  connect: Connect,
): Duplex | null | undefined {
  const host = options.host ?? "";
  const authority = `${host.includes(":") ? `[${host}]` : host}:${options.port}`;
  const admission = guard.admitOrigin(new URL(`${scheme}://${authority}`).origin);
  if (admission.kind !== "admitted") {
    const error = refusedError(admission, authority);
    if (created === undefined) throw error;
    // Node's type has no form for "no socket"; it reads the error first.
    queueMicrotask(() => (created as (error: Error) => void)(error));
    return undefined;
  }
  const socket = connect({ ...options, lookup: admission.lookup });
  if (socket === null || socket === undefined) admission.release();
  else socket.once("close", admission.release);
  return socket;
}
