/**
 * The tunnel client as a program for orchestrators. It connects from a cluster without inbound access to a relay, so that a hosted
 * environment can call the cluster's services. The process is ready while it is connected, closes in order on a signal, and needs no
 * terminal.
 */
import { readFile } from "node:fs/promises";
import { type Logger, PerdureError } from "@perdure/base";
import { type HealthReport, type ProcessPorts, type ReadyFacts, readSettingFile } from "@perdure/process-kit";
import { openProbes } from "@perdure/process-kit/http";
import { VERSION } from "@perdure/telemetry/version";
import { type ClientTunnel, openRemotePort, openTunnel, type RemotePort, type TunnelClientEvent } from "@perdure/tunnel";
import type { TunnelClientSettings } from "./config.js";

/**
 * Resolves when the client has begun to connect; the process is ready while a relay accepts it. Rejects with OPS0001 (settings), RT0004
 * (address).
 */
export async function startTunnelClient(settings: TunnelClientSettings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics, clock, random, logger } = ports;
  const credential = await lifecycle.prepare(() => credentialOf(settings));
  const ca = settings.caFile === undefined ? undefined : readSettingFile("ca-file", settings.caFile);
  const tunnelSettings = settings.tunnel;
  let tunnel: ClientTunnel | undefined;
  const health = (): HealthReport => connectedOnly(lifecycle.health, tunnel);
  const probePorts = { health, metrics: () => metrics.text(), clock, logger };
  const probes = await lifecycle.start("probes", () => openProbes(settings.probes, probePorts));
  tunnel = await lifecycle.start("tunnel", () => {
    const opened = openTunnel({
      environmentId: needed("tunnel.environment-id", tunnelSettings.environmentId),
      name: needed("tunnel.name", tunnelSettings.name),
      signingPublicKeys: needed("tunnel.signing-public-keys", tunnelSettings.signingPublicKeys),
      ...(tunnelSettings.servers === undefined
        ? { srv: needed("tunnel.srv", tunnelSettings.srv) }
        : { servers: tunnelSettings.servers }),
      credential,
      locals: [],
      allow: needed("tunnel.allow", tunnelSettings.allow),
      clientVersion: VERSION,
      workerId: settings.nodeName,
      ca,
      clock,
      random,
      drainMs: settings.shutdownTimeout,
      onEvent: (event) => logEvent(event, logger),
    });
    return Object.assign(opened, { drain: () => opened.close() });
  });
  void tunnel.ended.then((ending) => {
    if (ending.kind !== "refused") return;
    lifecycle.fail(new PerdureError("OPS0001", `the relay refused this tunnel: ${ending.status}`));
  });
  const proxies = await openProxies(settings, credential, ca, ports);
  return { probes: `http://localhost:${probes.port}/readyz`, ...proxies };
}

/** The client is not ready while no relay accepts it. */
function connectedOnly(report: HealthReport, tunnel: ClientTunnel | undefined): HealthReport {
  if (tunnel !== undefined && tunnel.connections > 0) return report;
  return { ...report, ready: false, waitingFor: [...report.waitingFor, "a relay"] };
}

async function openProxies(
  { remoteProxy }: TunnelClientSettings,
  credential: () => Promise<string>,
  ca: string | undefined,
  { lifecycle }: ProcessPorts,
): Promise<ReadyFacts> {
  if (!remoteProxy.enabled) return {};
  const open = (port: number, setting: string, url: string | undefined): Promise<RemotePort> => {
    const target = needed(setting, url);
    // A network policy restricts the callers.
    return openRemotePort({ port, host: remoteProxy.bindAddress, bindInsecure: true, target, credential, ca });
  };
  const { ingressPort, ingressUrl, adminPort, adminUrl } = remoteProxy;
  const ingress = await lifecycle.start("ingress", () => open(ingressPort, "remote-proxy.ingress-url", ingressUrl));
  const admin = await lifecycle.start("management API", () => open(adminPort, "remote-proxy.admin-url", adminUrl));
  return { ingress: ingress.url, admin: admin.url };
}

/** Reads the credential for each connection, so that the next one uses a replaced key. */
function credentialOf({ tunnel }: TunnelClientSettings): () => Promise<string> {
  const path = needed("tunnel.credential-file", tunnel.credentialFile);
  readSettingFile("tunnel.credential-file", path);
  return async () => (await readFile(path, "utf8")).trim();
}

function needed<T>(name: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw new PerdureError("OPS0001", `'${name}' must be set`);
}

function logEvent({ kind, ...facts }: TunnelClientEvent, logger: Logger): void {
  switch (kind) {
    case "connecting":
    case "request":
      return logger.debug(facts, kind);
    case "connected":
    case "draining":
      return logger.info(facts, kind);
    default:
      return logger.warn(facts, kind);
  }
}
