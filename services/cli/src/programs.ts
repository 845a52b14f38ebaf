/**
 * The programs that the command `perdure` starts by name, each in a process of its own. Every other command is one of the command line.
 * The script `perdure` of the project has the same table. Node loads this file directly when packages are built, so it imports nothing.
 */

export interface ProgramEntry {
  /** Folder below `services` whose `src/main.ts` is the program. */
  readonly service: string;
  /** Options of Node with which the program was measured; the images use the same. */
  readonly nodeOptions: readonly string[];
  /** Whether the program expects its own name as the first argument. */
  readonly expectsName: boolean;
  /** Purpose of the program, for `perdure --help`. */
  readonly summary: string;
  /** Heading in `perdure --help`. */
  readonly group: string;
}

/** A large young generation: what an invocation leaves behind dies young, and fewer collections copy less. */
const YOUNG_GENERATION = ["--min-semi-space-size=32", "--max-semi-space-size=32"];
/** The Kafka client computes a pause that may be negative, for which Node prints a warning into the log (docs/decisions/0053-kafkajs-stays.md). */
export const QUIET_KAFKA = "--disable-warning=TimeoutNegativeWarning";

const THIS_MACHINE = "This machine:";

const clusterRole = (service: string, summary: string, nodeOptions: readonly string[] = []): ProgramEntry => ({
  ...{ service, nodeOptions, expectsName: false, summary },
  group: "Roles of a cluster, each a process:",
});

const cloudRole = (service: string, summary: string): ProgramEntry => ({
  ...{ service, nodeOptions: [], expectsName: false, summary },
  group: "Roles of a cloud, each a process:",
});

export const PROGRAMS: Readonly<Record<string, ProgramEntry>> = {
  server: {
    service: "standalone",
    nodeOptions: [...YOUNG_GENERATION, "--heap-growing-percent=60", QUIET_KAFKA],
    expectsName: true,
    summary: "run every role in one process",
    group: THIS_MACHINE,
  },
  "test-server": {
    service: "test-environment",
    nodeOptions: [],
    expectsName: true,
    summary: "run a server in memory whose time and faults a test controls",
    group: THIS_MACHINE,
  },
  gateway: clusterRole("ingress-gateway", "accept requests of clients"),
  worker: clusterRole("invoker-worker", "run invocations of the partitions that it leads", [...YOUNG_GENERATION, QUIET_KAFKA]),
  registry: clusterRole("registry", "store deployments and services"),
  admin: clusterRole("admin-api", "serve the management API, SQL and the console"),
  tenancy: cloudRole("tenancy", "serve accounts, environments and keys"),
  "cloud-gateway": cloudRole("cloud-gateway", "serve the public address of all environments"),
  "tunnel-relay": cloudRole("tunnel-relay", "connect runtimes with endpoints in private networks"),
  "tunnel-client": cloudRole("tunnel-client", "connect endpoints of this network to a relay"),
  operator: cloudRole("operator", "reconcile environments and services of a Kubernetes cluster"),
};

/** Short names. */
export const ALIASES: Readonly<Record<string, string>> = { relay: "tunnel-relay" };

/** Name and alias of the programs, as the first argument of `perdure`. */
export const aliasOf = (name: string): string | undefined => Object.entries(ALIASES).find(([, target]) => target === name)?.[0];
