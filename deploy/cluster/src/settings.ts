/** Settings of a cluster on this machine: ports, the directory of its data, and settings of single roles. */
import { join, resolve } from "node:path";
import { type ClusterPorts, type LocalRole, ROOT, type RoleSettings } from "@perdure/dev-cluster";
import { chosenPort } from "@perdure/processes";
import { WORKERS } from "./limits.js";

/** Ports that users connect to have variables of their own; all others follow on `PERDURE_CLUSTER_PORTS`. */
const PUBLIC_PORTS = {
  ingress: { variable: "PERDURE_INGRESS__BIND_PORT", fallback: 8080 },
  secondIngress: { variable: "PERDURE_CLUSTER_SECOND_INGRESS_PORT", fallback: 8081 },
  admin: { variable: "PERDURE_ADMIN__BIND_PORT", fallback: 9070 },
  greeter: { variable: "GREETER_PORT", fallback: 9080 },
} as const;
const INNER = { variable: "PERDURE_CLUSTER_PORTS", fallback: 17_600 } as const;
const WORKERS_VARIABLE = "PERDURE_CLUSTER_WORKERS";
const INNER_NAMES = [
  "postgres",
  "redis",
  "kafka",
  "registry",
  "worker1",
  "worker2",
  "registryProbes",
  "worker1Probes",
  "worker2Probes",
  "gateway1Probes",
  "gateway2Probes",
] as const;

export type PortName = keyof typeof PUBLIC_PORTS | (typeof INNER_NAMES)[number];
export type ChosenPorts = Readonly<Record<PortName, number>>;

export interface WorkerPorts {
  readonly grpc: number;
  readonly probes: number;
}

export interface LocalClusterSettings {
  /** Data, logs, and the list of what runs. */
  readonly directory: string;
  readonly ports: ChosenPorts;
  /** Ports of the third worker and of those after it; they follow on the other ports. */
  readonly furtherWorkers: readonly WorkerPorts[];
  /** Settings of roles beyond those that make them one cluster. */
  readonly roles: Readonly<Partial<Record<LocalRole, RoleSettings>>>;
}

/** Throws when a variable or an argument makes no sense. `overrides`: `role[,role]:name=value`, as given with `--set`. */
export function settingsFrom(environment: NodeJS.ProcessEnv, overrides: readonly string[] = []): LocalClusterSettings {
  const furtherWorkerCount = workerCountOf(environment) - 2;
  const first = chosenPort(environment, INNER, INNER_NAMES.length + 2 * furtherWorkerCount);
  const ports: Record<string, number> = {};
  for (const [name, setting] of Object.entries(PUBLIC_PORTS)) ports[name] = chosenPort(environment, setting);
  for (const [i, name] of INNER_NAMES.entries()) ports[name] = first + i;
  const directory = environment["PERDURE_CLUSTER_DIR"] ?? "";
  return {
    directory: directory === "" ? join(ROOT, "perdure-data", "cluster") : resolve(directory),
    ports: ports as ChosenPorts,
    furtherWorkers: Array.from({ length: furtherWorkerCount }, (_, i) => {
      const grpc = first + INNER_NAMES.length + 2 * i;
      return { grpc, probes: grpc + 1 };
    }),
    roles: rolesFrom(overrides),
  };
}

function workerCountOf(environment: NodeJS.ProcessEnv): number {
  const text = environment[WORKERS_VARIABLE] ?? "";
  const count = text === "" ? WORKERS.fallback : Number(text);
  if (!Number.isInteger(count) || count < WORKERS.min || count > WORKERS.max)
    throw new Error(`${WORKERS_VARIABLE} must be a number from ${WORKERS.min} to ${WORKERS.max}, not '${text}'`);
  return count;
}

/** The setting to change when `port` is in use, e.g. `GREETER_PORT=9081`. */
export function adviceFor(name: PortName, ports: ChosenPorts): string {
  const setting = (PUBLIC_PORTS as Readonly<Record<string, { readonly variable: string }>>)[name];
  return setting === undefined ? `${INNER.variable}=${ports.postgres + 100}` : `${setting.variable}=${ports[name] + 1}`;
}

/** In the order of the workers. */
export function workerPortsOf({ ports, furtherWorkers }: LocalClusterSettings): readonly WorkerPorts[] {
  return [
    { grpc: ports.worker1, probes: ports.worker1Probes },
    { grpc: ports.worker2, probes: ports.worker2Probes },
    ...furtherWorkers,
  ];
}

/** Ports of the programs of the cluster. */
export function clusterPortsOf(settings: LocalClusterSettings, { withKafka }: { readonly withKafka: boolean }): ClusterPorts {
  const { ports } = settings;
  const { postgres, redis, kafka, registry, registryProbes, admin } = ports;
  return {
    ...{ postgres, redis, registry, registryProbes, admin },
    ...(withKafka ? { kafka } : {}),
    workers: workerPortsOf(settings),
    gateways: [
      { ingress: ports.ingress, probes: ports.gateway1Probes },
      { ingress: ports.secondIngress, probes: ports.gateway2Probes },
    ],
  };
}

const ROLES: readonly LocalRole[] = ["registry", "admin-api", "invoker-worker", "ingress-gateway"];

function rolesFrom(overrides: readonly string[]): Partial<Record<LocalRole, RoleSettings>> {
  const roles: Partial<Record<LocalRole, RoleSettings>> = {};
  for (const override of overrides) {
    const [, names, name, value] = /^([^:]+):([^=]+)=(.*)$/.exec(override) ?? [];
    if (names === undefined || name === undefined || value === undefined)
      throw new Error(`'${override}' must be like invoker-worker:worker.cleanup-interval=1s`);
    for (const role of names.split(",")) {
      const match = ROLES.find((one) => one === role);
      if (match === undefined) throw new Error(`there is no role '${role}'; there are ${ROLES.join(", ")}`);
      roles[match] = { ...roles[match], [name]: value };
    }
  }
  return roles;
}
