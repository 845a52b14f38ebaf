/** Why: what a person may choose about a cluster on this machine: ports, the directory of its data, and settings of single roles. */
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { LocalRole, Settings } from "@perdure/cluster/local";
import { chosenPort } from "@perdure/processes";

/** The bundle lies as deep below the root as this file. */
export const ROOT = resolve(fileURLToPath(new URL("../../..", import.meta.url)));

/** Ports of what people use have variables of their own; all others follow on `PERDURE_CLUSTER_PORTS`. */
const DOORS = {
  ingress: { variable: "PERDURE_INGRESS__BIND_PORT", fallback: 8080 },
  secondIngress: { variable: "PERDURE_CLUSTER_SECOND_INGRESS_PORT", fallback: 8081 },
  admin: { variable: "PERDURE_ADMIN__BIND_PORT", fallback: 9070 },
  greeter: { variable: "GREETER_PORT", fallback: 9080 },
} as const;
const INNER = { variable: "PERDURE_CLUSTER_PORTS", fallback: 17_600 } as const;
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

export type DoorName = keyof typeof DOORS;
export type PortName = DoorName | (typeof INNER_NAMES)[number];
export type Ports = Readonly<Record<PortName, number>>;

export interface ClusterSettings {
  /** Data, logs, and the list of what runs. */
  readonly directory: string;
  readonly ports: Ports;
  /** Settings of roles beyond those that make them one cluster. */
  readonly roles: Readonly<Partial<Record<LocalRole, Settings>>>;
}

/** Throws when a variable or an argument makes no sense. `overrides`: `role[,role]:name=value`, as given with `--set`. */
export function settingsFrom(environment: NodeJS.ProcessEnv, overrides: readonly string[] = []): ClusterSettings {
  const first = chosenPort(environment, INNER, INNER_NAMES.length);
  const ports: Record<string, number> = {};
  for (const [name, door] of Object.entries(DOORS)) ports[name] = chosenPort(environment, door);
  for (const [i, name] of INNER_NAMES.entries()) ports[name] = first + i;
  const directory = environment["PERDURE_CLUSTER_DIR"] ?? "";
  return {
    directory: directory === "" ? join(ROOT, "perdure-data", "cluster") : resolve(directory),
    ports: ports as Ports,
    roles: rolesFrom(overrides),
  };
}

/** What to set to another number when `port` is taken, e.g. `GREETER_PORT=9081`. */
export function adviceFor(name: PortName, ports: Ports): string {
  const door = (DOORS as Readonly<Record<string, { readonly variable: string }>>)[name];
  return door === undefined ? `${INNER.variable}=${ports.postgres + 100}` : `${door.variable}=${ports[name] + 1}`;
}

const ROLES: readonly LocalRole[] = ["registry", "admin-api", "invoker-worker", "ingress-gateway"];

function rolesFrom(overrides: readonly string[]): Partial<Record<LocalRole, Settings>> {
  const roles: Partial<Record<LocalRole, Settings>> = {};
  for (const override of overrides) {
    const [, names, name, value] = /^([^:]+):([^=]+)=(.*)$/.exec(override) ?? [];
    if (names === undefined || name === undefined || value === undefined)
      throw new Error(`'${override}' must be like invoker-worker:worker.cleanup-interval=1s`);
    for (const role of names.split(",")) {
      const known = ROLES.find((one) => one === role);
      if (known === undefined) throw new Error(`there is no role '${role}'; there are ${ROLES.join(", ")}`);
      roles[known] = { ...roles[known], [name]: value };
    }
  }
  return roles;
}
