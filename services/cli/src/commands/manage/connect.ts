/** Clients of the runtime for commands, with the environment's credential; errors of the runtime become errors of the command. */
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

/** Client of the management API of the selected environment. */
export function adminOf(context: Context): AdminClient {
  const environment = context.environment();
  return new AdminClient({
    baseUrl: environment.adminUrl,
    token: () => environment.credential(environment.adminUrl),
    userAgent: USER_AGENT,
    transport: sharedTransport(),
  });
}

/** Client of the ingress of the selected environment. */
export function ingressOf(context: Context): IngressClient {
  const environment = context.environment();
  return new IngressClient({
    baseUrl: environment.ingressUrl,
    token: () => environment.credential(environment.ingressUrl),
    userAgent: USER_AGENT,
    transport: sharedTransport(),
  });
}

/** The action of a command: a refusal of the runtime becomes an error of the command, with advice. */
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

/** Messages quote endpoints and handlers; lines may stay, control sequences for a terminal may not. */
export function harmless(text: string): string {
  return stripVTControlCharacters(text).replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}
