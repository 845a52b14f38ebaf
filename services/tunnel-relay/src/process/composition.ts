/** Composes the relay as a process, with tenancy over gRPC. */
import { X509Certificate } from "node:crypto";
import { causeMessage, PerdureError } from "@perdure/base";
import { openPeerCredentials, openPublicCertificate, openTenancy, required } from "@perdure/cluster-kit";
import { WatchedCertificate } from "@perdure/http-server";
import { type ProcessPorts, type ReadyFacts, readSettingFile } from "@perdure/process-kit";
import { checkAddress, listenOn, observeCertificate, openProbes } from "@perdure/process-kit/http";
import { tracedEdge } from "@perdure/telemetry";
import { observeRelay, relayMetrics } from "../metrics.js";
import type { RelayOptions } from "../ports.js";
import { createTunnelRelay } from "../relay.js";
import type { TunnelRelaySettings } from "./config.js";

/**
 * Starts all parts in the lifecycle and resolves when the relay accepts clients and runtimes. The process is not ready before the first
 * change event of tenancy arrived. Rejects with RT0004 (address), OPS0001 (settings).
 */
export async function startTunnelRelay(settings: TunnelRelaySettings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics, clock, random, logger } = ports;
  const tls = await openPeerCredentials(settings.tls, ports);
  const addresses = await lifecycle.prepare(() => required("tenancy.addresses", settings.tenancy.addresses));
  const certificates = await openPublicCertificate(settings.publicTls, ports);
  const peersCa = await openPeersCa(settings, ports);
  const options = await lifecycle.prepare(() => ({ ...optionsOf(settings), peersCa: () => peersCa?.current.certificate }));
  await lifecycle.prepare(() => checkAddress(settings.tunnels, "tunnels.bind-port"));
  await lifecycle.prepare(() => checkAddress(settings.proxy, "proxy.bind-port"));

  observeCertificate(metrics, "perdure_tunnel_tls_cert_expiry_seconds", certificates);
  const probePorts = { health: () => lifecycle.health, metrics: () => metrics.text(), clock, logger };
  const probes = await lifecycle.start("probes", () => openProbes(settings.probes, probePorts));
  const tenancy = await openTenancy({ addresses, tls, name: "changes of tenancy" }, ports);

  const relay = await lifecycle.start("relay", () => {
    const observed = { metrics: relayMetrics(metrics), edge: tracedEdge(ports, "server") };
    const relayPorts = { tenancy, clock, random, logger: logger.child({ component: "relay" }), ...observed };
    const opened = createTunnelRelay(relayPorts, options);
    return Object.assign(opened, { drain: (signal: AbortSignal) => opened.close(signal) });
  });
  observeRelay(metrics, {
    connections: () => relay.stats.connections,
    names: () => relay.stats.names,
    inFlight: () => relay.stats.inFlight,
  });
  const ofProxy = settings.proxy.cleartext ? undefined : certificates;
  const proxy = await lifecycle.prepare(() => relay.listenProxy({ ...listenOn(settings.proxy), certificates: ofProxy }));
  const tunnels = await lifecycle.prepare(() => relay.listenTunnels({ ...listenOn(settings.tunnels), certificates }));
  const schemeOf = (used: unknown): string => (used === undefined ? "http" : "https");
  return {
    tunnels: `${schemeOf(certificates)}://localhost:${tunnels.port}`,
    proxy: `${schemeOf(ofProxy)}://localhost:${proxy.port}`,
    probes: `http://localhost:${probes.port}/readyz`,
  };
}

/**
 * Reads the file again when it is replaced, because authorities are renewed while relays run. Rejects with OPS0001 when the file is not
 * valid.
 */
async function openPeersCa({ peers: { caFile }, publicTls }: TunnelRelaySettings, { lifecycle, clock, logger }: ProcessPorts) {
  if (caFile === undefined) return undefined;
  const read = () => {
    const certificate = readSettingFile("peers.ca-file", caFile);
    requireCertificate("peers.ca-file", certificate);
    return { certificate };
  };
  const options = { read, file: caFile, checkMs: publicTls.checkInterval };
  const part = await lifecycle.start("authorities of other relays", () => {
    const watched = new WatchedCertificate(options, { clock, logger });
    return { watched, [Symbol.asyncDispose]: async () => watched[Symbol.dispose]() };
  });
  return part.watched;
}

function requireCertificate(setting: string, pem: string): void {
  try {
    new X509Certificate(pem);
  } catch (cause) {
    throw new PerdureError("OPS0001", `'${setting}' has no certificate: ${causeMessage(cause)}`, { cause });
  }
}

function optionsOf(settings: TunnelRelaySettings): RelayOptions {
  const { regions, domain, peers, nodeName, shutdownTimeout } = settings;
  const host = `tunnel.${regions[0]}.${domain}`;
  return {
    regions,
    relay: nodeName,
    proxyUrl: withPort(settings.proxyUrl ?? `https://${host}`, 9080),
    tunnelUrl: withPort(settings.tunnelUrl ?? `https://${host}`, 9090),
    peers: peers.urls,
    peersService: peers.service,
    handshakesPerMinute: settings.handshakesPerMinute,
    drainMs: shutdownTimeout,
  };
}

/** Adds the port when there is none: official clients crash on an address without one (cloud.md §2.3). */
function withPort(origin: string, port: number): string {
  return /:\d+$/.test(origin) ? origin : `${origin}:${port}`;
}
