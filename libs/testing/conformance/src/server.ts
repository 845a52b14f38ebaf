/** A `perdure server` on free ports with a data directory of its own, to be started, killed and restarted. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environmentOf, executable, type RoleSettings, readyFactsOf } from "@perdure/dev-cluster";
import { ChildProgram, type ProgramExit } from "@perdure/processes";
import { SERVER_START_MS, SERVER_STOP_MS } from "./limits.js";

export interface ServerOptions {
  readonly settings?: RoleSettings;
  /** Kept when given; otherwise a temporary directory that is removed with the server. */
  readonly baseDir?: string;
  /** Additional environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Parameters of a start. */
interface ServerStart {
  readonly settings: RoleSettings;
  readonly environment: Readonly<Record<string, string>>;
}

interface ListenerUrls {
  readonly ingress: string;
  readonly admin: string;
}

/** Number of threads of all servers that do not set it themselves: one, so that suites are the same on every machine. */
const THREADS = "PERDURE_WORKER__THREADS";

/** Only the variables of the test's environment that are needed to find programs, and the number of threads. */
function processEnvironment({ settings, environment }: ServerStart): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    [THREADS]: process.env[THREADS] ?? "1",
    ...environment,
    ...environmentOf(settings),
  };
}

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), "perdure-conformance-"));
}

/** The interface of all servers that suites run against. */
export interface TestServer extends AsyncDisposable {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  /** Directory for files of the server. */
  readonly baseDir: string;
  /** Directories of the databases of partitions and metadata, when these are folders. */
  readonly databases: { readonly partitions: string; readonly metadata: string };
  readonly isRunning: boolean;
  /** The last lines of its output. */
  readonly lines: readonly string[];
  kill(): Promise<unknown>;
  stop(): Promise<ProgramExit>;
  startAgain(changed?: RoleSettings): Promise<void>;
}

export class Server implements TestServer {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  readonly baseDir: string;
  readonly #start: ServerStart;
  readonly #ownsBaseDir: boolean;
  #child: ChildProgram;

  private constructor(child: ChildProgram, urls: ListenerUrls, start: ServerStart, baseDir: string, ownsBaseDir: boolean) {
    this.#child = child;
    this.ingressUrl = urls.ingress;
    this.adminUrl = urls.admin;
    this.#start = start;
    this.baseDir = baseDir;
    this.#ownsBaseDir = ownsBaseDir;
  }

  /** Resolves when ingress and management API answer; rejects with the server's last lines when it ends instead. */
  static async start(options: ServerOptions = {}): Promise<Server> {
    const baseDir = options.baseDir ?? temporaryDirectory();
    const settings = { "ingress.bind-port": 0, "admin.bind-port": 0, ...options.settings, "base-dir": baseDir };
    const start = { settings, environment: options.environment ?? {} };
    const { child, urls } = await launch(start);
    return new Server(child, urls, start, baseDir, options.baseDir === undefined);
  }

  get pid(): number {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child.isRunning;
  }

  get lines(): readonly string[] {
    return this.#child.lines;
  }

  /** Sends SIGKILL: nothing is flushed. */
  kill(): Promise<ProgramExit> {
    return this.#child.kill();
  }

  /** Sends SIGTERM; resolves with the exit. */
  stop(): Promise<ProgramExit> {
    return this.#child.stop({ withinMs: SERVER_STOP_MS });
  }

  /** Directories of the databases of partitions and metadata. */
  get databases(): { readonly partitions: string; readonly metadata: string } {
    return { partitions: join(this.baseDir, "node1/db/level"), metadata: join(this.baseDir, "node1/local-metadata-store/level") };
  }

  /** Starts it again on the same data and ports, after `kill` or `stop`. `changed` settings apply to this start only. */
  async startAgain(changed: RoleSettings = {}): Promise<void> {
    if (this.isRunning) throw new Error("the server is still running");
    const ports = { "ingress.bind-port": new URL(this.ingressUrl).port, "admin.bind-port": new URL(this.adminUrl).port };
    const { child } = await launch({ ...this.#start, settings: { ...this.#start.settings, ...changed, ...ports } });
    this.#child = child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) await this.stop();
    if (this.#ownsBaseDir) rmSync(this.baseDir, { recursive: true, force: true });
  }
}

async function launch({ settings, environment }: ServerStart): Promise<{ child: ChildProgram; urls: ListenerUrls }> {
  const child = await ChildProgram.start({
    name: "the server",
    command: await executable(),
    args: ["server"],
    env: processEnvironment({ settings: { "log-format": "json", ...settings }, environment }),
  });
  try {
    return { child, urls: await child.ready(() => urlsIn(child.lines), SERVER_START_MS) };
  } catch (cause) {
    await child.kill();
    throw cause;
  }
}

/** The addresses that a server logs when it is ready. */
function urlsIn(lines: readonly string[]): ListenerUrls | undefined {
  const { ingress, admin } = readyFactsOf(lines) ?? {};
  return ingress === undefined || admin === undefined ? undefined : { ingress: loopback(ingress), admin: loopback(admin) };
}

/** The server logs `localhost`; the address saves every request a look-up and an attempt with the other family. */
function loopback(url: string): string {
  return url.replace("localhost", "127.0.0.1").replace(/\/$/, "");
}

export interface RefusedStart {
  readonly exit: ProgramExit;
  readonly output: string;
}

/** Runs a server that must refuse to start until its process ends by itself. Rejects (and stops it) when it starts. */
export async function expectRefusal(settings: RoleSettings, args: readonly string[] = []): Promise<RefusedStart> {
  const allSettings = { "ingress.bind-port": 0, "admin.bind-port": 0, ...settings };
  const child = await ChildProgram.start({
    name: "the server",
    command: await executable(),
    args: ["server", ...args],
    env: processEnvironment({ settings: allSettings, environment: {} }),
    onLine: (line) => {
      if (urlsIn([line]) !== undefined) child.signal("SIGKILL");
    },
  });
  const timer = setTimeout(() => child.signal("SIGKILL"), SERVER_START_MS);
  const exit = await child.exited;
  clearTimeout(timer);
  if (exit.signal !== null) throw new Error(`the server did not refuse to start:\n${child.lastLines()}`);
  return { exit, output: child.lines.join("\n") };
}
