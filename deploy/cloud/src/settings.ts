/** Settings of the cloud on this machine: ports, and the directory of its data. */
import { join, resolve } from "node:path";
import { type CloudPorts, ROOT } from "@perdure/dev-cluster";
import { chosenPort } from "@perdure/processes";

/** Ports that users connect to have variables of their own; all others follow on `PERDURE_CLOUD_PORTS`. */
const PUBLIC_PORTS = {
  api: { variable: "PERDURE_API__BIND_PORT", fallback: 8085 },
  greeter: { variable: "GREETER_PORT", fallback: 9080 },
  ingressHere: { variable: "PERDURE_CLOUD_INGRESS_PORT", fallback: 18_080 },
} as const;
const INNER = { variable: "PERDURE_CLOUD_PORTS", fallback: 17_700 } as const;
const INNER_NAMES = [
  "postgres",
  "tenancy",
  "tenancyProbes",
  "gatewayIngress",
  "gatewayAdmin",
  "gatewayProbes",
  "tunnels",
  "tunnelProxy",
  "relayProbes",
] as const;
/** Two for each environment, behind the inner ones; runtimes have as many behind those. */
const ENVIRONMENT_PORTS = 100;

export type PortName = keyof typeof PUBLIC_PORTS | (typeof INNER_NAMES)[number];
/** Ports of the programs that the demo starts on this machine. */
export const DEMO_PORTS: readonly PortName[] = ["greeter", "ingressHere"];
type ChosenPorts = Readonly<Record<PortName, number>>;

export interface CloudSettings {
  /** Data, logs, and the list of what runs. */
  readonly directory: string;
  /** Settings of all runtimes beside their own, as `perdure server` reads them. */
  readonly runtimeConfigFile: string | undefined;
  readonly ports: ChosenPorts;
  readonly firstEnvironmentPort: number;
  readonly runtimePorts: { readonly first: number; readonly last: number };
}

/** Throws when a variable makes no sense. */
export function settingsFrom(environment: NodeJS.ProcessEnv): CloudSettings {
  const first = chosenPort(environment, INNER, INNER_NAMES.length + 2 * ENVIRONMENT_PORTS);
  const ports: Record<string, number> = {};
  for (const [name, setting] of Object.entries(PUBLIC_PORTS)) ports[name] = chosenPort(environment, setting);
  for (const [i, name] of INNER_NAMES.entries()) ports[name] = first + i;
  const firstEnvironmentPort = first + INNER_NAMES.length;
  const firstRuntimePort = firstEnvironmentPort + ENVIRONMENT_PORTS;
  const chosen = environment["PERDURE_CLOUD_DIR"] ?? "";
  const directory = chosen === "" ? join(ROOT, "perdure-data", "cloud") : resolve(chosen);
  return {
    directory,
    runtimeConfigFile: environment["PERDURE_CLOUD_RUNTIME_CONFIG"],
    ports: ports as ChosenPorts,
    firstEnvironmentPort,
    runtimePorts: { first: firstRuntimePort, last: firstRuntimePort + ENVIRONMENT_PORTS - 1 },
  };
}

/** The setting to change when `port` is in use, e.g. `GREETER_PORT=9081`. */
export function adviceFor(name: PortName, ports: ChosenPorts): string {
  const setting = (PUBLIC_PORTS as Readonly<Record<string, { readonly variable: string }>>)[name];
  return setting === undefined ? `${INNER.variable}=${ports.postgres + 1000}` : `${setting.variable}=${ports[name] + 1}`;
}

/** Ports of the programs of the cloud. */
export function cloudPortsOf({ ports, firstEnvironmentPort, runtimePorts }: CloudSettings): CloudPorts {
  const { postgres, api, tenancy, tenancyProbes, tunnels, tunnelProxy, relayProbes } = ports;
  return {
    ...{ postgres, api, tenancy, tenancyProbes, tunnels, tunnelProxy, relayProbes },
    gateways: [{ ingress: ports.gatewayIngress, admin: ports.gatewayAdmin, probes: ports.gatewayProbes }],
    firstEnvironment: firstEnvironmentPort,
    runtimes: runtimePorts,
  };
}
