/**
 * Settings of a cluster on one machine, for a trial and for tests: the same processes with the same settings, whatever starts them. The
 * settings of each role are here once; everything listens on 127.0.0.1 only.
 */

/** Values of settings by their dotted names, e.g. `{ "worker.cleanup-interval": "200ms" }`. */
export type RoleSettings = Readonly<Record<string, string | number>>;

/** Folders below `services`. */
export type LocalRole = "registry" | "admin-api" | "invoker-worker" | "ingress-gateway";

/** Addresses that all processes share. */
export interface LocalCluster {
  readonly postgresUrl: string;
  readonly redisUrl: string;
  /** gRPC port of the registry. */
  readonly registryPort: number;
  /** gRPC ports of workers, which report the addresses of all others. At least one. */
  readonly workerPorts: readonly number[];
}

export const HOST = "127.0.0.1";
/** Shutdown timeout of a process of a local cluster, which need not wait long for clients. */
const SHUTDOWN_TIMEOUT = "5s";

export const common: RoleSettings = { "shutdown-timeout": SHUTDOWN_TIMEOUT };
export const probesAt = (port: number): RoleSettings => ({ "probes.bind-address": HOST, "probes.bind-port": port });
export const grpcAt = (port: number): RoleSettings => ({ "grpc.bind-address": HOST, "grpc.bind-port": port });
const registryOf = ({ registryPort }: LocalCluster): RoleSettings => ({ "registry.addresses": `${HOST}:${registryPort}` });
const workersOf = ({ workerPorts }: LocalCluster): RoleSettings => ({
  "worker.addresses": workerPorts.map((port) => `${HOST}:${port}`).join(","),
});

/** Ports are 0 where any free one will do. */
export function registrySettings(cluster: LocalCluster, ports: { readonly probes: number }): RoleSettings {
  return {
    ...common,
    ...probesAt(ports.probes),
    ...grpcAt(cluster.registryPort),
    ...workersOf(cluster),
    "metadata.postgres-url": cluster.postgresUrl,
    "redis.url": cluster.redisUrl,
  };
}

/** `ingress`: public port of the gateway. */
export function adminSettings(cluster: LocalCluster, ports: { readonly admin: number; readonly ingress: number }): RoleSettings {
  return {
    ...common,
    ...registryOf(cluster),
    ...workersOf(cluster),
    "admin.bind-address": HOST,
    "admin.bind-port": ports.admin,
    "ingress.advertised-address": `http://localhost:${ports.ingress}/`,
    "metadata.postgres-url": cluster.postgresUrl,
    "redis.url": cluster.redisUrl,
  };
}

/** `name` must be its own among the workers. */
export function workerSettings(
  cluster: LocalCluster,
  name: string,
  ports: { readonly grpc: number; readonly probes: number },
): RoleSettings {
  return {
    ...common,
    ...probesAt(ports.probes),
    ...grpcAt(ports.grpc),
    ...registryOf(cluster),
    // With any free port only the worker itself has its address.
    ...(ports.grpc === 0 ? {} : { "advertised-address": `${HOST}:${ports.grpc}` }),
    "node-name": name,
    "metadata.postgres-url": cluster.postgresUrl, // Where completed invocations are archived.
    "redis.url": cluster.redisUrl,
  };
}

export function gatewaySettings(
  cluster: LocalCluster,
  ports: { readonly ingress: number; readonly probes: number },
): RoleSettings {
  return {
    ...common,
    ...probesAt(ports.probes),
    ...registryOf(cluster),
    ...workersOf(cluster),
    "ingress.bind-address": HOST,
    "ingress.bind-port": ports.ingress,
  };
}

/** Settings as variables of a process: `ingress.bind-port` becomes `PERDURE_INGRESS__BIND_PORT`. */
export function environmentOf(settings: RoleSettings): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      `PERDURE_${name.replaceAll(".", "__").replaceAll("-", "_").toUpperCase()}`,
      String(value),
    ]),
  );
}
