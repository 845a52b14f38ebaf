/**
 * The programs that the command `perdure` starts by name, each in a process of its own. Every other command is one of the command line.
 * Node loads this file directly when packages are built, so it imports nothing.
 */

export interface ProgramEntry {
  /** Folder below `services` whose `src/main.ts` is the program. */
  readonly service: string;
  /** Options of Node with which the program was measured; the images use the same. */
  readonly nodeOptions: readonly string[];
  /** Whether the program expects its own name as the first argument. */
  readonly expectsName: boolean;
  /** What the program is, for `perdure --help`. */
  readonly summary: string;
}

/** A large young generation: what an invocation leaves behind dies young, and fewer collections copy less. */
const YOUNG_GENERATION = ["--min-semi-space-size=32", "--max-semi-space-size=32"];

const role = (service: string, nodeOptions: readonly string[] = []): Omit<ProgramEntry, "summary"> => ({
  service,
  nodeOptions,
  expectsName: false,
});

export const PROGRAMS: Readonly<Record<string, ProgramEntry>> = {
  server: {
    service: "standalone",
    nodeOptions: [...YOUNG_GENERATION, "--heap-growing-percent=60"],
    expectsName: true,
    summary: "run every role in one process",
  },
  gateway: { ...role("ingress-gateway"), summary: "accept requests of clients (role of a cluster)" },
  worker: {
    ...role("invoker-worker", YOUNG_GENERATION),
    summary: "run invocations of the partitions that it leads (role of a cluster)",
  },
  registry: { ...role("registry"), summary: "store deployments and services (role of a cluster)" },
  admin: { ...role("admin-api"), summary: "serve the management API, SQL and the console (role of a cluster)" },
  tenancy: { ...role("tenancy"), summary: "serve accounts, environments and keys (role of a cloud)" },
  "cloud-gateway": { ...role("cloud-gateway"), summary: "serve the public address of all environments (role of a cloud)" },
  "tunnel-relay": { ...role("tunnel-relay"), summary: "connect runtimes with endpoints in private networks (role of a cloud)" },
  "tunnel-client": { ...role("tunnel-client"), summary: "connect endpoints of this network to a relay" },
  operator: { ...role("operator"), summary: "reconcile environments and services of a Kubernetes cluster" },
};

/** Short names. */
export const ALIASES: Readonly<Record<string, string>> = { relay: "tunnel-relay" };
