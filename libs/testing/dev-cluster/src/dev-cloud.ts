/**
 * The whole platform on this machine, for tests and for `make cloud`, each program a process:
 *
 * PostgreSQL ▸ tenancy (Cloud API, login; one runtime per environment) ▸ cloud gateways, tunnel relay
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePortRange, freePorts, startDatabase, startPostgresPatiently } from "@perdure/servers";
import { builtBundle, programBundle } from "./bundle.js";
import {
  apiUrlOf,
  cloudGatewaySettings,
  type LocalCloud,
  type LocalCloudRole,
  tenancySettings,
  tunnelRelaySettings,
} from "./cloud-settings.js";
import { HOST, type RoleSettings } from "./cluster-settings.js";
import type { ServiceProgram } from "./service-program.js";
import { Starter, type Supervision } from "./supervision.js";

/** Environments of a test, each with two ports at the gateway and two of its runtime. */
const TEST_ENVIRONMENTS_MAX = 10;

export interface CloudPorts {
  readonly postgres: number;
  readonly api: number;
  readonly tenancy: number;
  readonly tenancyProbes: number;
  readonly tunnels: number;
  readonly tunnelProxy: number;
  readonly relayProbes: number;
  readonly gateways: readonly GatewayPorts[];
  readonly firstEnvironment: number;
  readonly runtimes: { readonly first: number; readonly last: number };
}

interface GatewayPorts {
  readonly ingress: number;
  readonly admin: number;
  readonly probes: number;
}

export interface DevCloudOptions {
  /** Keeps the data of the platform; a temporary one, and a database for this cloud alone, when absent. */
  readonly directory?: string;
  /** Free ones when absent. */
  readonly ports?: CloudPorts;
  /** Number of gateways when ports are free ones; one when absent. Only the first serves the ports of environments. */
  readonly gateways?: number;
  /** Whether a tunnel relay runs; true when absent. */
  readonly hasRelay?: boolean;
  /** Settings beside those that make the programs one platform, or in their place. */
  readonly settings?: Readonly<Partial<Record<LocalCloudRole, RoleSettings>>>;
  /** Additional environment variables of every program. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Text of the key file for secrets in a new directory; random keys when absent. */
  readonly keys?: string;
  /** File with settings that all runtimes have beside their own. */
  readonly runtimeConfigFile?: string | undefined;
  /** Supervision of a cloud that is run for a user; without it the cloud ends with its last reference. */
  readonly supervision?: Supervision;
}

interface CloudPrograms {
  readonly tenancy: ServiceProgram;
  readonly gateways: readonly ServiceProgram[];
  readonly relay: ServiceProgram | undefined;
}

export class DevCloud implements AsyncDisposable {
  readonly addresses: LocalCloud;
  readonly apiUrl: string;
  readonly tenancy: ServiceProgram;
  readonly gateways: readonly ServiceProgram[];
  readonly relay: ServiceProgram | undefined;
  /** Addresses of the listeners of each gateway. */
  readonly gatewayUrls: readonly { readonly ingress: string; readonly admin: string; readonly probes: string }[];
  readonly #starter: Starter;

  private constructor(addresses: LocalCloud, { gateways: ports }: CloudPorts, programs: CloudPrograms, starter: Starter) {
    this.addresses = addresses;
    this.apiUrl = apiUrlOf(addresses);
    this.tenancy = programs.tenancy;
    this.gateways = programs.gateways;
    this.relay = programs.relay;
    const at = (port: number): string => `http://${HOST}:${port}`;
    this.gatewayUrls = ports.map(({ ingress, admin, probes }) => ({
      ingress: at(ingress),
      admin: at(admin),
      probes: at(probes),
    }));
    this.#starter = starter;
  }

  /** Resolves when all of it serves. */
  static async start(options: DevCloudOptions = {}): Promise<DevCloud> {
    const starter = new Starter(options.supervision);
    try {
      const ports = options.ports ?? (await freeCloudPorts(options.gateways ?? 1));
      const directory = options.directory ?? temporaryDirectory(starter);
      const addresses: LocalCloud = {
        postgresUrl: await startStore(starter, options, ports),
        apiPort: ports.api,
        tenancyPort: ports.tenancy,
        tunnelPort: ports.tunnels,
        tunnelProxyPort: ports.tunnelProxy,
        firstEnvironmentPort: ports.firstEnvironment,
        runtimePorts: ports.runtimes,
        directory: join(directory, "environments"),
        keyFile: keyFileIn(directory, options.keys),
        runtimeConfigFile: options.runtimeConfigFile,
        serverProgram:
          options.supervision === undefined ? await programBundle("services/standalone") : builtBundle("services/standalone"),
      };
      const programs = await startPrograms(starter, options, addresses, ports);
      return new DevCloud(addresses, ports, programs, starter);
    } catch (cause) {
      await starter[Symbol.asyncDispose]();
      throw cause;
    }
  }

  /** Ends what runs of the cloud, runtimes too. A supervised cloud is stopped by its group instead. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#starter[Symbol.asyncDispose]();
  }
}

// ── its parts ────────────────────────────────────────────────────────────────────────────────────

async function freeCloudPorts(gateways: number): Promise<CloudPorts> {
  const [postgres, api, tenancy, tunnels, tunnelProxy, ...rest] = (await freePorts(5 + 3 * gateways)) as [
    ...[number, number, number, number, number],
    ...number[],
  ];
  return {
    ...{ postgres, api, tenancy, tunnels, tunnelProxy, tenancyProbes: 0, relayProbes: 0 },
    gateways: Array.from({ length: gateways }, (_, n) => {
      const [ingress, admin, probes] = rest.slice(3 * n, 3 * n + 3) as [number, number, number];
      return { ingress, admin, probes };
    }),
    firstEnvironment: (await freePortRange(2 * TEST_ENVIRONMENTS_MAX)).first,
    // Runtimes that start again take other ports than those that are still ending.
    runtimes: await freePortRange(4 * TEST_ENVIRONMENTS_MAX),
  };
}

function temporaryDirectory(starter: Starter): string {
  const path = mkdtempSync(join(tmpdir(), "perdure-cloud-"));
  starter.use({ [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true, force: true }) });
  return path;
}

/** URL of the database: a server of its own in a directory that is kept, else an empty database. */
async function startStore(starter: Starter, { directory }: DevCloudOptions, { postgres: port }: CloudPorts): Promise<string> {
  if (directory === undefined) return starter.use(await startDatabase()).url;
  const postgres = startPostgresPatiently({ directory: join(directory, "postgres"), port });
  await starter.show("starting PostgreSQL", `PostgreSQL on port ${port}`, postgres);
  return starter.keep("PostgreSQL", "server", await postgres).url;
}

/** Written once: without it the sealed values in the database cannot be read. */
function keyFileIn(directory: string, keys = `1 ${randomBytes(32).toString("base64")}\n`): string {
  const path = join(directory, "keys");
  if (!existsSync(path)) writeFileSync(path, keys, { mode: 0o600 });
  return path;
}

async function startPrograms(
  starter: Starter,
  { settings, environment = {}, hasRelay = true, supervision }: DevCloudOptions,
  addresses: LocalCloud,
  ports: CloudPorts,
): Promise<CloudPrograms> {
  const launch = (name: string, service: LocalCloudRole, ofRole: RoleSettings): Promise<ServiceProgram> =>
    starter.launch(name, service === "tenancy" ? "work" : "listener", {
      service,
      settings: { ...ofRole, ...settings?.[service] },
      environment,
    });
  const tenancy = await launch("tenancy", "tenancy", tenancySettings(addresses, { probes: ports.tenancyProbes }));
  // Stopped rather than killed, because it ends the runtimes that it has started.
  if (supervision === undefined) starter.use({ [Symbol.asyncDispose]: async () => void (await tenancy.stop()) });
  const gateways: ServiceProgram[] = [];
  for (const [index, gateway] of ports.gateways.entries()) {
    const name = index === 0 ? "cloud-gateway" : `cloud-gateway${index + 1}`;
    const ofGateway = { ...cloudGatewaySettings(addresses, gateway), "environment-ports.enabled": String(index === 0) };
    gateways.push(await launch(name, "cloud-gateway", ofGateway));
  }
  const relayPorts = { probes: ports.relayProbes };
  const relay = hasRelay ? await launch("tunnel-relay", "tunnel-relay", tunnelRelaySettings(addresses, relayPorts)) : undefined;
  await starter.ready([tenancy, ...gateways, ...(relay === undefined ? [] : [relay])]);
  return { tenancy, gateways, relay };
}
