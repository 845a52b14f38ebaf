/**
 * Settings of a whole platform on one machine, for a trial and for tests, once for every program. There are no host names: every
 * environment has two ports of its own, and nothing is encrypted. Everything listens on 127.0.0.1 only.
 */
import { common, grpcAt, HOST, probesAt, type RoleSettings } from "./cluster-settings.js";

/** Folders below `services`. */
export type LocalCloudRole = "tenancy" | "cloud-gateway" | "tunnel-relay";

/** Addresses that all programs share. */
export interface LocalCloud {
  readonly postgresUrl: string;
  /** Port of the Cloud API and of the web pages; `http://localhost:<port>` issues access tokens. */
  readonly apiPort: number;
  /** gRPC port of tenancy. */
  readonly tenancyPort: number;
  /** Port that tunnel clients connect to. */
  readonly tunnelPort: number;
  /** Port at which runtimes reach tunnels. */
  readonly tunnelProxyPort: number;
  /** Ports of the first environment: this one for its ingress, the next for management; two for each. */
  readonly firstEnvironmentPort: number;
  /** Ports on which runtimes themselves listen, for the gateway alone. */
  readonly runtimePorts: { readonly first: number; readonly last: number };
  /** Data of environments. */
  readonly directory: string;
  /** File with the keys that secrets are sealed with. */
  readonly keyFile: string;
  /** The bundle of `perdure server`. */
  readonly serverProgram: string;
  /** File with settings that all runtimes have beside their own. */
  readonly runtimeConfigFile?: string | undefined;
}

export const apiUrlOf = ({ apiPort }: Pick<LocalCloud, "apiPort">): string => `http://localhost:${apiPort}`;

export function tenancySettings(cloud: LocalCloud, ports: { readonly probes: number }): RoleSettings {
  return {
    ...common,
    ...probesAt(ports.probes),
    ...grpcAt(cloud.tenancyPort),
    "api.bind-address": HOST,
    "api.bind-port": cloud.apiPort,
    "api.public-url": apiUrlOf(cloud),
    "metadata.postgres-url": cloud.postgresUrl,
    "secrets.key-file": cloud.keyFile,
    "provisioner.directory": cloud.directory,
    "provisioner.program": cloud.serverProgram,
    ...(cloud.runtimeConfigFile === undefined ? {} : { "provisioner.config-file": cloud.runtimeConfigFile }),
    "provisioner.ports-first": cloud.runtimePorts.first,
    "provisioner.ports-last": cloud.runtimePorts.last,
    // When this local cloud stops, nothing of it may continue to run.
    "provisioner.on-stop": "stop",
    // Endpoints of a laptop are on the laptop.
    "provisioner.egress": "open",
    "cloud.regions": "us,eu",
    "cloud.scheme": "http",
    "cloud.ports-host": "localhost",
    "cloud.ports-first": cloud.firstEnvironmentPort,
    "cloud.tunnels": "on",
    "cloud.tunnel-proxy-url": `http://${HOST}:${cloud.tunnelProxyPort}`,
    "cloud.tunnel-servers": `http://${HOST}:${cloud.tunnelPort}`,
  };
}

export function cloudGatewaySettings(
  cloud: LocalCloud,
  ports: { readonly ingress: number; readonly admin: number; readonly probes: number },
): RoleSettings {
  return {
    ...common,
    ...probesAt(ports.probes),
    issuer: apiUrlOf(cloud),
    "console-url": apiUrlOf(cloud),
    "ingress.bind-address": HOST,
    "ingress.bind-port": ports.ingress,
    "admin.bind-address": HOST,
    "admin.bind-port": ports.admin,
    "environment-ports.enabled": "true",
    "tenancy.addresses": `${HOST}:${cloud.tenancyPort}`,
  };
}

export function tunnelRelaySettings(cloud: LocalCloud, ports: { readonly probes: number }): RoleSettings {
  return {
    ...common,
    ...probesAt(ports.probes),
    "tunnels.bind-address": HOST,
    "tunnels.bind-port": cloud.tunnelPort,
    "proxy.bind-address": HOST,
    "proxy.bind-port": cloud.tunnelProxyPort,
    regions: "us,eu",
    // Official clients derive their addresses from this URL.
    "proxy-url": `http://${HOST}:${cloud.tunnelProxyPort}`,
    // All clients have the same address.
    "handshakes-per-minute": 1000,
    "tunnel-url": `http://${HOST}:${cloud.tunnelPort}`,
    "tenancy.addresses": `${HOST}:${cloud.tenancyPort}`,
  };
}
