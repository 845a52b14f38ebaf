/** An open tunnel on a terminal: prints its events, and closes it in order on Ctrl-C. */
import { readFileSync } from "node:fs";
import { systemRandom } from "@perdure/base";
import { VERSION } from "@perdure/telemetry/version";
import { type ClientTunnel, openTunnel, type TunnelClientEvent, type TunnelEnding, type TunnelLocal } from "@perdure/tunnel";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { DRAIN_ON_EXIT_MS } from "../../limits.js";
import type { Output } from "../../output/index.js";
import { serversOf, type TunnelTarget } from "./target.js";

interface OpenOptions {
  readonly name: string;
  readonly locals: readonly TunnelLocal[];
  readonly allow: readonly string[];
  readonly servers: readonly string[] | undefined;
  /** Path of PEM certificates. */
  readonly ca: string | undefined;
  /** Prints each request as well. */
  readonly isVerbose: boolean;
}

/** Starts connecting. Ends the command when the options are invalid. */
export function startTunnel(context: Context, target: TunnelTarget, options: OpenOptions): ClientTunnel {
  const servers = serversOf(context, options.servers) ?? target.servers;
  if (servers === undefined && target.srv === undefined) {
    context.fail(
      FAILED,
      "The address of the tunnel's relays is missing",
      "Name one: --server HOST:PORT, or PERDURE_TUNNEL_SERVERS.",
    );
  }
  return openTunnel({
    environmentId: target.environmentId,
    name: options.name,
    ...(servers === undefined ? { srv: target.srv } : { servers }),
    credential: target.credential,
    signingPublicKeys: target.signingPublicKeys,
    locals: options.locals,
    allow: options.allow,
    clientVersion: VERSION,
    ca: options.ca === undefined ? undefined : readFileSync(options.ca, "utf8"),
    clock: context.clock,
    random: systemRandom,
    drainMs: DRAIN_ON_EXIT_MS,
    onEvent: (event) => reportEvent(context.output, event, options.isVerbose),
  });
}

/** Waits until the tunnel has ended; Ctrl-C closes it in order, which is a success. */
export async function untilClosed(context: Context, tunnel: ClientTunnel): Promise<void> {
  const stop = (): void => {
    if (tunnel.inFlight > 0) context.output.note(`Waiting for ${tunnel.inFlight} requests under way …`);
    void tunnel.close();
  };
  if (context.signal.aborted) stop();
  context.signal.addEventListener("abort", stop, { once: true });
  const ending = await tunnel.ended;
  context.signal.removeEventListener("abort", stop);
  failOn(context, ending);
}

/** Ends the command when the relay refused the tunnel. */
export function failOn(context: Context, ending: TunnelEnding): void {
  if (ending.kind !== "refused") return;
  const [message, advice] = REFUSALS[ending.status];
  context.fail(FAILED, message, advice);
}

const REFUSALS: Readonly<Record<Extract<TunnelEnding, { kind: "refused" }>["status"], readonly [string, string]>> = {
  unauthorized: [
    "The relay refused the credential (unauthorized)",
    "Tunnels take a key with full access, or a login as developer or more; and the environment must not be suspended.",
  ],
  "bad-tunnel-name": ["The relay refused the name (bad-tunnel-name)", "Use letters, digits, '-', '_' and '.'; 63 at most."],
  "too-many-tunnels": [
    "The environment has all the tunnels its plan allows (too-many-tunnels)",
    "Which there are: perdure tunnels list",
  ],
  "name-changed": ["The relay gave the tunnel another name than the one requested", "Report it to the operator of the cloud."],
};

function reportEvent(output: Output, event: TunnelClientEvent, isVerbose: boolean): void {
  const { kind, ...facts } = event;
  const line = lineOf(output, event, isVerbose);
  output.event({ event: `tunnel-${kind}`, ...facts }, () => {
    if (line !== undefined) output.note(line);
  });
}

function lineOf(output: Output, event: TunnelClientEvent, isVerbose: boolean): string | undefined {
  switch (event.kind) {
    case "connecting":
      return isVerbose ? `… connecting to ${event.server}` : undefined;
    case "connected":
      return `${output.paint("green", "●")} connected to ${event.server}`;
    case "draining":
      return `${output.paint("yellow", "●")} ${event.server} goes away; another connection takes over`;
    case "disconnected":
      return `${output.paint("yellow", "●")} ${event.server}: ${event.reason}; trying again`;
    case "refused":
      return undefined; // The command ends with this error: see `failOn`.
    case "resolveFailed":
      return `${output.paint("yellow", "●")} ${event.srv} cannot be resolved: ${event.reason}`;
    case "request":
      return isVerbose
        ? `${event.status} ${event.method} ${event.destination}${event.path} ${Math.round(event.durationMs)}ms`
        : undefined;
    case "denied":
      return `${output.paint("red", "●")} refused a request for ${event.path}: ${event.reason}`;
    default:
      return unknown(event);
  }
}

function unknown(event: never): string {
  return JSON.stringify(event);
}
