/** Why: commands speak to one runtime through its clients, with the environment's credential, and end with what the runtime said. */
import { stripVTControlCharacters } from "node:util";
import { AdminApiError, AdminClient, IngressClient } from "@perdure/admin-client";
import { type NodeTransport, nodeTransport } from "@perdure/admin-client/node";
import { type Context, USER_AGENT } from "../../context.js";
import { CliError, FAILED } from "../../errors.js";

/** One for the process: its sockets end with it. */
let transport: NodeTransport | undefined;

function sharedTransport(): NodeTransport["send"] {
  transport ??= nodeTransport();
  return transport.send;
}

/** The management API of the environment that the command is about. */
export function adminOf(context: Context): AdminClient {
  const environment = context.environment();
  return new AdminClient({
    baseUrl: environment.adminUrl,
    token: () => environment.credential(environment.adminUrl),
    userAgent: USER_AGENT,
    transport: sharedTransport(),
  });
}

/** The ingress of the environment that the command is about. */
export function ingressOf(context: Context): IngressClient {
  const environment = context.environment();
  return new IngressClient({
    baseUrl: environment.ingressUrl,
    token: () => environment.credential(environment.ingressUrl),
    userAgent: USER_AGENT,
    transport: sharedTransport(),
  });
}

/** An action of a command: what the runtime refuses becomes an error of the command, with what to do. */
export function action<A extends unknown[]>(work: (...args: A) => Promise<void>): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      await work(...args);
    } catch (cause) {
      throw cause instanceof AdminApiError ? asCliError(cause) : cause;
    }
  };
}

export function asCliError(cause: AdminApiError): CliError {
  const { message, code, advice, requestId } = cause;
  return new CliError(FAILED, harmless(message), advice, { cause, code, requestId });
}

/** Messages quote endpoints and handlers; lines may stay, what a terminal would obey may not. */
export function harmless(text: string): string {
  return stripVTControlCharacters(text).replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}
