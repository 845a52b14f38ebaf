/** Wires the gateway as a process: its role, with tenancy over gRPC. */
import { ForwardingKeys } from "@perdure/cloud/forwarding";
import { openPeerCredentials, openPublicCertificate, openTenancy, required } from "@perdure/cluster-kit";
import { type ProcessPorts, type ReadyFacts, readSettingFile, trustedProxiesOf } from "@perdure/process-kit";
import { checkAddress, listenOn, observeCertificate, openProbes } from "@perdure/process-kit/http";
import { tracedEdge } from "@perdure/telemetry";
import { EnvironmentPortListeners } from "../environment-ports.js";
import { createCloudGateway } from "../gateway.js";
import type { NetworkLimits } from "../limits.js";
import { gatewayMetrics, observeGateway } from "../metrics.js";
import type { CloudGatewaySettings } from "./config.js";

/**
 * Starts everything as parts of the lifecycle and resolves when callers are served; the process is not ready before the first change
 * event of tenancy. Rejects with RT0004 (address), OPS0001 (settings).
 */
export async function startCloudGateway(settings: CloudGatewaySettings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics, clock, random, logger } = ports;
  const tls = await openPeerCredentials(settings.tls, ports);
  const addresses = await lifecycle.prepare(() => required("tenancy.addresses", settings.tenancy.addresses));
  const forwarding = await lifecycle.prepare(() => forwardingOf(settings));
  const certificates = await openPublicCertificate(settings.publicTls, ports);
  await lifecycle.prepare(() => checkAddress(settings.ingress, "ingress.bind-port"));
  await lifecycle.prepare(() => checkAddress(settings.admin, "admin.bind-port"));

  observeCertificate(metrics, "perdure_cloud_gateway_tls_cert_expiry_seconds", certificates);
  const probePorts = { health: () => lifecycle.health, metrics: () => metrics.text(), clock, logger };
  const probes = await lifecycle.start("probes", () => openProbes(settings.probes, probePorts));
  const tenancy = await openTenancy({ addresses, tls, name: "change events of tenancy" }, ports);

  const gateway = await lifecycle.start("gateway", () => {
    const edge = tracedEdge(ports, "server");
    const opened = createCloudGateway(
      { tenancy, clock, random, logger: logger.child({ component: "gateway" }), metrics: gatewayMetrics(metrics), edge },
      {
        region: settings.region,
        domain: settings.domain,
        issuer: settings.issuer ?? `https://api.${settings.region}.${settings.domain}`,
        consoleUrl: settings.consoleUrl,
        logsRequests: settings.accessLog,
        drainMs: settings.shutdownTimeout,
        connectionsPerNetworkMax: settings.connectionsPerNetwork,
        networkLimits: networkLimitsOf(settings),
        trustedProxies: trustedProxiesOf(settings.trustedProxies),
        forwarding,
      },
    );
    return Object.assign(opened, { drain: () => opened.close() });
  });
  observeGateway(metrics, {
    inFlight: () => gateway.inFlight,
    heldRefusals: () => gateway.stats.heldRefusals,
    waiting: () => gateway.stats.waiting,
    gateways: () => gateway.stats.gateways,
    callers: () => gateway.stats.callers,
    environments: () => gateway.stats.environments,
  });
  const ingress = await lifecycle.prepare(() =>
    gateway.listen({ endpoint: "ingress", certificates, ...listenOn(settings.ingress) }),
  );
  const admin = await lifecycle.prepare(() => gateway.listen({ endpoint: "admin", certificates, ...listenOn(settings.admin) }));
  const { environmentPorts } = settings;
  if (environmentPorts.enabled) {
    const host = environmentPorts.bindAddress;
    await lifecycle.start("environments' ports", () => new EnvironmentPortListeners(gateway, tenancy, logger, { host }));
  }
  const scheme = certificates === undefined ? "http" : "https";
  return {
    ingress: `${scheme}://localhost:${ingress.address.port}`,
    admin: `${scheme}://localhost:${admin.address.port}`,
    probes: `http://localhost:${probes.port}/readyz`,
  };
}

function networkLimitsOf({ limits }: CloudGatewaySettings): NetworkLimits {
  const { wrongCredentialsPerMinute, lookupsAtOnce, anonymousBurst, anonymousPerSecond } = limits;
  return { unauthorizedPerMinute: wrongCredentialsPerMinute, lookupsMax: lookupsAtOnce, anonymousBurst, anonymousPerSecond };
}

/** Throws OPS0001 when the file cannot be read. */
function forwardingOf({ forwardingKeyFile: path }: CloudGatewaySettings): ForwardingKeys | undefined {
  if (path === undefined) return undefined;
  return ForwardingKeys.parse(readSettingFile("forwarding-key-file", path), "forwarding-key-file");
}
