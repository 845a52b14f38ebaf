/** Starts and stops the servers under test. Each has ports and a directory of its own. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, homedir, platform, tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@perdure/servers";
import { ownedChild } from "./children.js";
import type { ServerKind } from "./kinds.js";
import { cpuSeconds, residentMiB, root, until } from "./processes.js";

export const REFERENCE_VERSION = "1.7.12";

/**
 * The reference server from npm, kept in the cache and never in the project. The package's own command is a wrapper, whose Node process
 * would count; the path is that of the program itself.
 */
export function referenceProgram(): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const home = join(cache, "perdure", `reference-${REFERENCE_VERSION}`);
  if (!existsSync(join(home, "node_modules/@restatedev/restate-server"))) {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "package.json"), '{"private":true}\n');
    console.error(`fetching the reference server ${REFERENCE_VERSION} from npm …`);
    const args = ["install", "--no-audit", "--no-fund", `@restatedev/restate-server@${REFERENCE_VERSION}`];
    execFileSync("npm", args, { cwd: home, stdio: "ignore" });
  }
  const own = createRequire(join(home, "node_modules/@restatedev/restate-server/package.json"));
  return own.resolve(`@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`);
}

export class Server implements AsyncDisposable {
  readonly kind: ServerKind;
  readonly directory: string;
  readonly ingress: string;
  readonly admin: string;
  readonly #ports: readonly [ingress: number, admin: number, node: number];
  /** Path of `perdure`, or of the reference. */
  readonly #program: string;
  readonly #environment: Readonly<Record<string, string>>;
  #process: ChildProcess | undefined;

  private constructor(
    kind: ServerKind,
    program: string,
    ports: readonly [number, number, number],
    environment: Readonly<Record<string, string>>,
  ) {
    this.kind = kind;
    this.#program = program;
    this.#ports = ports;
    this.#environment = environment;
    this.ingress = `http://127.0.0.1:${ports[0]}`;
    this.admin = `http://127.0.0.1:${ports[1]}`;
    this.directory = mkdtempSync(join(tmpdir(), `perdure-bench-${kind}-`));
  }

  /** Does not start it. `program`: the `perdure` of another build. `environment`: settings of Perdure. */
  static async create(
    kind: ServerKind,
    program: string = join(root, "perdure"),
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Server> {
    const [ingress, admin, node] = (await freePorts(3)) as [number, number, number];
    return new Server(kind, kind === "reference" ? referenceProgram() : program, [ingress, admin, node], environment);
  }

  /** Resolves with the milliseconds until both listeners answered health checks. */
  async start(signal?: AbortSignal): Promise<number> {
    const began = performance.now();
    this.#process = ownedChild(this.kind === "reference" ? this.#spawnReference() : this.#spawnPerdure());
    const healthy = async (): Promise<boolean> => {
      const answers = await Promise.all([fetch(`${this.admin}/health`), fetch(`${this.ingress}/restate/health`)]);
      await Promise.all(answers.map((answer) => answer.arrayBuffer()));
      return answers.every((answer) => answer.ok);
    };
    await until(`${this.kind} to be healthy`, healthy, { withinMs: 120_000, ...(signal === undefined ? {} : { signal }) });
    return performance.now() - began;
  }

  #spawnReference(): ChildProcess {
    const [ingress, admin, node] = this.#ports;
    const config = join(this.directory, "config.toml");
    const address = (port: number): string => `bind-address = "127.0.0.1:${port}"`;
    const sections = [`[ingress]\n${address(ingress)}`, `[admin]\n${address(admin)}`];
    writeFileSync(config, `base-dir = "${this.directory}/data"\n${address(node)}\n${sections.join("\n")}\n`);
    const env = { ...process.env, DO_NOT_TRACK: "1", RESTATE_DISABLE_TELEMETRY: "true" };
    return spawn(this.#program, ["--config-file", config], { stdio: "ignore", env });
  }

  #spawnPerdure(): ChildProcess {
    const [ingress, admin] = this.#ports;
    const env = {
      ...process.env,
      PERDURE_INGRESS__BIND_PORT: String(ingress),
      PERDURE_ADMIN__BIND_PORT: String(admin),
      PERDURE_INGRESS__BIND_ADDRESS: "127.0.0.1",
      PERDURE_ADMIN__BIND_ADDRESS: "127.0.0.1",
      ...this.#environment,
    };
    const args = ["server", "--base-dir", join(this.directory, "data")];
    return spawn(this.#program, args, { stdio: ["ignore", "ignore", "inherit"], env });
  }

  get pid(): number {
    if (this.#process?.pid === undefined) throw new Error(`${this.kind} does not run`);
    return this.#process.pid;
  }

  cpuSeconds(): number {
    return cpuSeconds(this.pid);
  }

  residentMiB(): number {
    return residentMiB(this.pid);
  }

  async register(uri: string): Promise<void> {
    const answer = await fetch(`${this.admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri, force: true }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${this.kind}: registering answered ${answer.status} ${text}`);
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const stopped = this.#process;
    this.#process = undefined;
    if (stopped === undefined || stopped.exitCode !== null || stopped.signalCode !== null) return;
    const exited = once(stopped, "exit");
    stopped.kill(signal);
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
    rmSync(this.directory, { recursive: true, force: true });
  }
}
