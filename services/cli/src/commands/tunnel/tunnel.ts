/**
 * `perdure tunnel`: services on this machine become `tunnel://NAME:PORT`, and ports of the environment become local ones (cloud.md §2.9).
 */
import { hostname } from "node:os";
import { PerdureError } from "@perdure/base";
import { isTunnelName, openRemotePort, type RemotePort, type TunnelLocal } from "@perdure/tunnel";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import type { RemotePortFlag } from "./flags.js";
import { startTunnel, untilClosed } from "./run.js";
import { type TunnelTarget, tunnelTarget } from "./target.js";

export interface TunnelFlags {
  readonly tunnelName?: string;
  readonly localPort?: readonly TunnelLocal[];
  readonly remotePort?: readonly RemotePortFlag[];
  readonly allow?: readonly string[];
  readonly local: boolean;
  readonly remote: boolean;
  readonly server?: readonly string[];
  readonly ca?: string;
  readonly bind?: string;
  readonly bindInsecure?: boolean;
  readonly verbose?: boolean;
}

const DEFAULT_LOCAL: TunnelLocal = { tunnelPort: 9080, host: "127.0.0.1", port: 9080 };

export async function tunnel(context: Context, flags: TunnelFlags): Promise<void> {
  const locals = flags.local ? (flags.localPort ?? [DEFAULT_LOCAL]) : [];
  const allow = flags.local ? (flags.allow ?? []) : [];
  const remotes = flags.remote ? (flags.remotePort ?? []) : [];
  const hasTunnel = locals.length + allow.length > 0;
  if (!hasTunnel && remotes.length === 0) {
    context.fail(USAGE, "There is nothing to do", "Give --local-port or --remote-port.");
  }
  const name = tunnelNameOf(context, flags.tunnelName);
  const target = await tunnelTarget(context, undefined);
  await using ports = new OpenPorts();
  for (const remote of remotes) ports.add(await openPort(context, target, remote, flags));
  if (!hasTunnel) return await untilStopped(context);
  const open = startTunnel(context, target, {
    name,
    locals,
    allow,
    servers: flags.server,
    ca: flags.ca,
    isVerbose: flags.verbose === true,
  });
  void open.ready.then((ready) => {
    if (ready !== undefined) reportReady(context, ready.name, locals, allow);
  });
  await untilClosed(context, open);
}

class OpenPorts implements AsyncDisposable {
  readonly #ports: RemotePort[] = [];

  add(port: RemotePort): void {
    this.#ports.push(port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#ports.map((port) => port[Symbol.asyncDispose]()));
  }
}

async function openPort(
  context: Context,
  target: TunnelTarget,
  { remote, local }: RemotePortFlag,
  flags: TunnelFlags,
): Promise<RemotePort> {
  const to = new URL(remote === 8080 ? target.ingressUrl : target.adminUrl).origin;
  const { output } = context;
  let port: RemotePort;
  try {
    port = await openRemotePort({
      port: local,
      host: flags.bind,
      bindInsecure: flags.bindInsecure,
      target: to,
      credential: target.credential,
      onEvent: (event) => {
        if (flags.verbose === true)
          output.event({ event: "remote-request", ...event }, () => output.note(`${event.status} ${event.method} ${event.path}`));
      },
    });
  } catch (cause) {
    if (!(cause instanceof PerdureError)) throw cause;
    const advice =
      cause.code === "RT0004"
        ? `Take another port: --remote-port ${remote}:OTHER`
        : "Other machines could then use your credential; to allow it: --bind-insecure";
    return context.fail(FAILED, cause.message, advice, cause);
  }
  const what = remote === 8080 ? "ingress" : "management API";
  output.event({ event: "remote-port", remote, url: port.url, target: to }, () =>
    output.print(`${port.url} is the ${what} of '${target.name}', with your credential`),
  );
  return port;
}

function reportReady(context: Context, name: string, locals: readonly TunnelLocal[], allow: readonly string[]): void {
  const { output } = context;
  const uris = locals.map(({ tunnelPort }) => `tunnel://${name}:${tunnelPort}`);
  output.event({ event: "ready", name, uris, allow }, () => {
    for (const [at, { host, port }] of locals.entries()) output.print(`${uris[at]} is ${host}:${port} here`);
    for (const origin of allow) output.print(`${origin} can be reached through '${name}'`);
    const first = uris[0];
    if (first !== undefined) output.note(`Register it: perdure deployments register ${first}     Ctrl-C ends the tunnel.`);
  });
}

/** The given name, else one that this machine always has. */
export function tunnelNameOf(context: Context, requestedName: string | undefined): string {
  const given = requestedName ?? context.variables.find("PERDURE_TUNNEL_NAME")?.value;
  if (given !== undefined) {
    return isTunnelName(given)
      ? given
      : context.fail(USAGE, `A tunnel cannot be called '${given}'`, "Use letters, digits, '-', '_' and '.'; 63 at most.");
  }
  const own = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40)
    .replace(/-+$/, "");
  return own === "" ? "local" : own;
}

async function untilStopped({ signal }: Context): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
