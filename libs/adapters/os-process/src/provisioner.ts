/**
 * The Provisioner of one machine: a process for each environment, with a folder, ports, a key and a secret of its own. Its state is on disk
 * too, so after a crash the next provisioner finds the processes and continues.
 */
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { type Clock, type Logger, PerdureError, type Random, Secret } from "@perdure/base";
import {
  type DesiredRuntime,
  type EnvironmentId,
  type Provisioner,
  parseEnvironmentId,
  type RuntimeState,
  type RuntimeStateListener,
  randomBase62,
} from "@perdure/cloud";
import { EnvironmentFiles, letPass, makePrivateFolder } from "./files.js";
import { launchOf, type RuntimeProgram } from "./launch.js";
import { SECRET_CHARS } from "./limits.js";
import { isFree, PortPool, type PortRange } from "./ports.js";
import { identityOf } from "./process-identity.js";
import { Runtime } from "./runtime.js";
import { cgroupShares, niceShares, type Shares } from "./shares.js";
import { UidPool, type UidRange } from "./users.js";

interface ProcessProvisionerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface ProcessProvisionerOptions {
  /** Directory of all environments; created when it is missing. Used by one provisioner at a time. */
  readonly directory: string;
  /** The bundle of `perdure server`. */
  readonly program: string;
  readonly ports: PortRange;
  /**
   * File with settings that all runtimes have beside their own, as `perdure server` reads it. Changes of the file apply to a runtime the
   * next time that it is requested.
   */
  readonly configFile?: string | undefined;
  /** Rules for the destinations of runtimes; `open` lets tenants reach into the network of this machine. */
  readonly egress: "guarded" | "open";
  /** Fate of the runtimes on dispose: `leave` keeps them running for the next provisioner. Default: `stop`. */
  readonly onDispose?: "stop" | "leave" | undefined;
  /** A directory of cgroup v2 that only this process uses; without one runtimes have a lower priority than the platform. */
  readonly cgroup?: string | undefined;
  /** Range of users for runtimes, one each; when not set, all run as the user of this process. */
  readonly uidRange?: UidRange | undefined;
  /** Domains of the platform itself, which no guarded runtime may connect to. */
  readonly ownDomains?: readonly string[];
  /** OTLP/HTTP collector that all runtimes send their traces to; as `configFile` says when not set. */
  readonly tracingEndpoint?: string | undefined;
}

/**
 * Continues with the processes that an earlier provisioner left. Its disposal ends them all, unless `onDispose` is `leave`; their data
 * stay. Throws OPS0001 when the control group, or the users, cannot be used.
 */
export function openProcessProvisioner(ports: ProcessProvisionerPorts, options: ProcessProvisionerOptions): Provisioner {
  return new ProcessProvisioner(ports, options);
}

class ProcessProvisioner implements Provisioner {
  readonly #ports: ProcessProvisionerPorts;
  readonly #directory: string;
  readonly #program: RuntimeProgram;
  readonly #free: PortPool;
  readonly #runtimes = new Map<EnvironmentId, Runtime>();
  readonly #listeners = new Set<RuntimeStateListener>();
  /** Operations on one environment run in order. */
  readonly #queues = new Map<EnvironmentId, Promise<void>>();
  readonly #shares: Shares;
  readonly #users: UidPool | undefined;
  readonly #onDispose: "stop" | "leave";
  #isClosed = false;

  constructor(ports: ProcessProvisionerPorts, options: ProcessProvisionerOptions) {
    this.#ports = ports;
    this.#directory = resolve(options.directory);
    const { configFile, egress, ownDomains = [], tracingEndpoint } = options;
    this.#program = {
      path: resolve(options.program),
      configFile: configFile === undefined ? undefined : resolve(configFile),
      egress,
      ownDomains,
      tracingEndpoint,
    };
    this.#shares = this.#openShares(options.cgroup);
    this.#onDispose = options.onDispose ?? "stop";
    this.#free = new PortPool(options.ports);
    makePrivateFolder(this.#directory);
    this.#users = this.#openUsers(options.uidRange);
    for (const name of readdirSync(this.#directory)) {
      const id = parseEnvironmentId(name);
      if (id !== undefined) this.#recover(id);
    }
  }

  apply(desired: DesiredRuntime): Promise<void> {
    return this.#inOrder(desired.environmentId, () => this.#apply(desired));
  }

  remove(id: EnvironmentId, { erase }: { readonly erase: boolean }): Promise<void> {
    return this.#inOrder(id, async () => {
      const files = this.#filesOf(id);
      await this.#runtimes.get(id)?.end();
      files.deleteKeys();
      if (erase) {
        const { launch } = files;
        files.erase();
        if (launch !== undefined) for (const port of [launch.ingressPort, launch.adminPort]) this.#free.giveBack(port);
        if (launch?.uid !== undefined) this.#users?.giveBack(launch.uid);
      }
      if (this.#runtimes.delete(id)) this.#notify(id, undefined);
    });
  }

  state(id: EnvironmentId): RuntimeState | undefined {
    return this.#runtimes.get(id)?.state;
  }

  onChange(listener: RuntimeStateListener): void {
    this.#listeners.add(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    await Promise.all(this.#queues.values());
    const isLeft = this.#onDispose === "leave";
    await Promise.all([...this.#runtimes.values()].map((runtime) => (isLeft ? runtime.leave() : runtime.end())));
    this.#runtimes.clear();
  }

  async #apply(desired: DesiredRuntime): Promise<void> {
    if (this.#isClosed) throw new PerdureError("OPS0004", "runtimes are being ended");
    const id = desired.environmentId;
    const existing = this.#runtimes.get(id);
    if (existing !== undefined && existing.launch.generation >= desired.generation) return;
    const files = this.#filesOf(id);
    // A runtime that has data under a user of its own keeps that user, also when the range has changed.
    const uid = files.launch?.uid ?? this.#users?.take();
    files.make(uid);
    files.writePrivate(files.signingKey, desired.signingKeyPem.reveal(), uid);
    if (desired.tunnels !== undefined) files.writePrivate(files.tunnelToken, desired.tunnels.token.reveal(), uid);
    const secret = this.#secretOf(files, uid);
    const launch = launchOf(desired, { ...(await this.#portsFor(files, existing)), uid }, files, this.#program);
    files.launch = launch;
    if (existing === undefined) this.#runtimes.set(id, this.#open(id, files, secret, launch));
    else existing.apply(launch);
  }

  /** Manages a running process at once; tenancy decides whether it is still needed. */
  #recover(id: EnvironmentId): void {
    const files = this.#filesOf(id);
    const { launch, process: record } = files;
    if (launch === undefined) return;
    this.#free.keep(launch.ingressPort);
    this.#free.keep(launch.adminPort);
    if (launch.uid !== undefined) this.#users?.keep(launch.uid);
    if (record === undefined || identityOf(record.pid) !== record.identity) return;
    this.#ports.logger.info({ environmentId: id, pid: record.pid }, "taking over a running runtime");
    this.#runtimes.set(id, this.#open(id, files, this.#secretOf(files, launch.uid), launch));
  }

  #open(id: EnvironmentId, files: EnvironmentFiles, secret: Secret, launch: ReturnType<typeof launchOf>): Runtime {
    const { clock, random, logger } = this.#ports;
    const onState = (state: RuntimeState): void => this.#notify(id, state);
    const ports = { id, files, program: this.#program.path, secret, shares: this.#shares, clock, random, logger, onState };
    return new Runtime(ports, launch);
  }

  /** Keeps the ports of the earlier launch, unless the runtime has ended and another process has taken them. */
  async #portsFor(files: EnvironmentFiles, existing: Runtime | undefined): Promise<{ ingressPort: number; adminPort: number }> {
    const { launch } = files;
    if (launch !== undefined) {
      const { ingressPort, adminPort } = launch;
      const runs = existing !== undefined && existing.state.phase !== "failed";
      if (runs || ((await isFree(ingressPort)) && (await isFree(adminPort)))) return { ingressPort, adminPort };
      this.#free.giveBack(ingressPort);
      this.#free.giveBack(adminPort);
    }
    return { ingressPort: await this.#free.take(), adminPort: await this.#free.take() };
  }

  /** Throws OPS0001. */
  #openShares(cgroup: string | undefined): Shares {
    if (cgroup !== undefined) return cgroupShares(cgroup);
    const message = "the kernel bounds no runtime's memory; 'provisioner.cgroup' gives each a control group";
    if (process.platform === "linux") this.#ports.logger.warn({}, message);
    return niceShares;
  }

  /** Throws OPS0001. */
  #openUsers(range: UidRange | undefined): UidPool | undefined {
    if (range === undefined) {
      this.#ports.logger.warn({}, "all runtimes run as one user of the system; 'provisioner.uid-range' gives each its own");
      return undefined;
    }
    letPass(this.#directory);
    const { path, configFile } = this.#program;
    const readable = [process.execPath, path, ...(configFile === undefined ? [] : [configFile])];
    return new UidPool(range, readable, this.#directory);
  }

  #secretOf(files: EnvironmentFiles, uid: number | undefined): Secret {
    const stored = files.readSecret();
    const secret = stored ?? randomBase62(SECRET_CHARS, this.#ports.random);
    files.writePrivate(files.secret, secret, uid);
    return new Secret(secret);
  }

  #filesOf(id: EnvironmentId): EnvironmentFiles {
    return new EnvironmentFiles(this.#directory, id);
  }

  #notify(id: EnvironmentId, state: RuntimeState | undefined): void {
    for (const listener of this.#listeners) listener(id, state);
  }

  #inOrder(id: EnvironmentId, work: () => Promise<void>): Promise<void> {
    const before = this.#queues.get(id) ?? Promise.resolve();
    const done = before.then(work);
    const finished = done.then(NOTHING, NOTHING); // The caller of this call gets its failure; the next call does not.
    this.#queues.set(id, finished);
    finished.then(() => {
      if (this.#queues.get(id) === finished) this.#queues.delete(id);
    }, NOTHING);
    return done;
  }
}

const NOTHING = (): void => undefined;
