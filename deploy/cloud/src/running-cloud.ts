/**
 * The whole platform on one machine, each program a process with its own log:
 *
 * PostgreSQL ▸ tenancy (Cloud API, login; one runtime per environment) ▸ cloud gateway, tunnel relay
 *
 * All data is below one directory and is used again by the next run. A program that ends by itself is started again.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { environmentOf, type RoleSettings } from "@perdure/cluster-kit/local";
import {
  apiUrlOf,
  cloudGatewaySettings,
  type LocalCloud,
  type LocalCloudRole,
  tenancySettings,
  tunnelRelaySettings,
} from "@perdure/cluster-kit/local-cloud";
import { ProcessGroup, type ProcessStage, type Record, RoleProcess } from "@perdure/processes";
import { startPostgresPatiently } from "@perdure/servers";
import { adviceFor, type CloudPortName, type CloudSettings, DEMO_PORTS, ROOT } from "./settings.js";

/** Shows that something is being waited for, then what came of it. */
export type Show = (what: string, done: string, work: Promise<unknown>) => Promise<void>;

export class RunningCloud {
  readonly apiUrl: string;
  readonly #settings: CloudSettings;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #group: ProcessGroup;

  /** `environment`: of the processes; our own variables in it are left out. */
  constructor(settings: CloudSettings, record: Record, environment: NodeJS.ProcessEnv) {
    this.#settings = settings;
    this.#group = new ProcessGroup(record);
    this.apiUrl = apiUrlOf({ apiPort: settings.ports.api });
    this.#environment = Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("PERDURE_")));
    for (const folder of ["postgres", "logs"]) mkdirSync(join(settings.directory, folder), { recursive: true });
  }

  /** Rejects with the name of the program when its port is in use. `isBare`: no demo, so its ports are not checked. */
  async checkPorts(isBare: boolean): Promise<void> {
    const { ports } = this.#settings;
    const names = (Object.keys(ports) as CloudPortName[]).filter((name) => !isBare || !DEMO_PORTS.includes(name));
    await ProcessGroup.checkPorts(names.map((name) => [name, ports[name], `${adviceFor(name, ports)} make cloud`] as const));
  }

  /** Resolves when all of it serves. */
  async start(show: Show): Promise<void> {
    const { ports, directory } = this.#settings;
    const postgres = startPostgresPatiently({ directory: join(directory, "postgres"), port: ports.postgres });
    await show("starting PostgreSQL", `PostgreSQL on port ${ports.postgres}`, postgres);
    const database = await postgres;
    this.#group.keep("server", { name: "PostgreSQL", process: database, startAgain: () => database.start() });

    const cloud: LocalCloud = {
      postgresUrl: database.url,
      apiPort: ports.api,
      tenancyPort: ports.tenancy,
      tunnelPort: ports.tunnels,
      tunnelProxyPort: ports.tunnelProxy,
      firstEnvironmentPort: this.#settings.firstEnvironmentPort,
      runtimePorts: this.#settings.runtimePorts,
      directory: this.#settings.environments,
      keyFile: this.#keyFile(),
      runtimeConfigFile: this.#settings.runtimeConfigFile,
      serverProgram: join(ROOT, "services/standalone/dist/main.mjs"),
    };
    const gatewayPorts = { ingress: ports.gatewayIngress, admin: ports.gatewayAdmin, probes: ports.gatewayProbes };
    const roles = [
      await this.#startRole("tenancy", "work", tenancySettings(cloud, { probes: ports.tenancyProbes }), ports.tenancyProbes),
      await this.#startRole("cloud-gateway", "door", cloudGatewaySettings(cloud, gatewayPorts), ports.gatewayProbes),
      await this.#startRole("tunnel-relay", "door", tunnelRelaySettings(cloud, { probes: ports.relayProbes }), ports.relayProbes),
    ];
    for (const role of roles) {
      const ready = role.ready();
      ready.catch(() => undefined); // A failure is reported where this is awaited.
      await show(`starting ${role.name}`, `${role.name} is ready (process ${role.pid})`, ready);
    }
  }

  /** Restarts programs that end, until the signal fires. Rejects when that happens too often. */
  watch(signal: AbortSignal, report: (what: string) => void): Promise<void> {
    return this.#group.watch(signal, report);
  }

  stop(): Promise<void> {
    return this.#group.stop();
  }

  async #startRole(role: LocalCloudRole, stage: ProcessStage, settings: RoleSettings, probes: number): Promise<RoleProcess> {
    const started = await RoleProcess.start({
      name: role,
      command: process.execPath,
      args: [join(ROOT, "services", role, "dist/main.mjs")],
      env: { ...this.#environment, ...environmentOf({ "log-format": "json", ...settings }) },
      logFile: join(this.#settings.directory, "logs", `${role}.log`),
      readyUrl: `http://127.0.0.1:${probes}/readyz`,
    });
    this.#group.keep(stage, { name: role, process: started, startAgain: () => started.startAgain() });
    return started;
  }

  /** Created once: without it the sealed values in the database cannot be read. */
  #keyFile(): string {
    const path = join(this.#settings.directory, "keys");
    if (!existsSync(path)) writeFileSync(path, `1 ${randomBytes(32).toString("base64")}\n`, { mode: 0o600 });
    return path;
  }
}
