/** A `perdure server` on free ports with a data directory of its own, to be started, killed and restarted. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environmentOf, type RoleSettings } from "@perdure/cluster-kit/local";
import { executable } from "./bundle.js";
import { ChildProgram, type ProgramExit } from "./child.js";
import { SERVER_START_MS, SERVER_STOP_MS } from "./limits.js";

export type { RoleSettings } from "@perdure/cluster-kit/local";

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

/** Only the variables of the test's environment that are needed to find programs. */
function processEnvironment({ settings, environment }: ServerStart): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: process.env["HOME"], ...environment, ...environmentOf(settings) };
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
    return this.#child.exit === undefined;
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
    return this.#child.stop(SERVER_STOP_MS);
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
  const path = await executable();
  let opened: (urls: ListenerUrls) => void = () => {};
  const ready = new Promise<ListenerUrls>((resolve) => {
    opened = resolve;
  });
  const child = ChildProgram.start(
    path,
    ["server"],
    processEnvironment({ settings: { "log-format": "json", ...settings }, environment }),
    (line) => {
      const urls = urlsIn(line);
      if (urls !== undefined) opened(urls);
    },
  );
  let timer: NodeJS.Timeout | undefined;
  const outcome = await Promise.race([
    ready,
    child.exited.then(() => "ended" as const),
    new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), SERVER_START_MS);
    }),
  ]);
  clearTimeout(timer);
  if (outcome === "ended" || outcome === "late") {
    await child.kill();
    throw new Error(`the server ${outcome === "late" ? "was not ready in time" : "ended"}:\n${child.lastLines()}`);
  }
  return { child, urls: outcome };
}

/** The addresses in the log line `ready`. */
function urlsIn(line: string): ListenerUrls | undefined {
  if (!line.includes('"msg":"ready"')) return undefined;
  const { ingress, admin } = JSON.parse(line) as ListenerUrls;
  return { ingress: loopback(ingress), admin: loopback(admin) };
}

/** The server logs `localhost`; the address saves every request a look-up and an attempt with the other family. */
function loopback(url: string): string {
  return url.replace("localhost", "127.0.0.1").replace(/\/$/, "");
}

export interface RefusedStart {
  readonly exit: ProgramExit;
  readonly output: string;
}

/** For servers that must refuse to start: runs until the process ends by itself. Rejects (and stops it) when it starts. */
export async function expectRefusal(settings: RoleSettings, args: readonly string[] = []): Promise<RefusedStart> {
  const path = await executable();
  const child = ChildProgram.start(
    path,
    ["server", ...args],
    processEnvironment({ settings: { "ingress.bind-port": 0, "admin.bind-port": 0, ...settings }, environment: {} }),
  );
  const timer = setTimeout(() => child.signal("SIGKILL"), SERVER_START_MS);
  const started = setInterval(() => {
    if (child.lines.some((line) => urlsIn(line) !== undefined)) child.signal("SIGKILL");
  }, 20);
  const exit = await child.exited;
  clearTimeout(timer);
  clearInterval(started);
  if (exit.signal !== null) throw new Error(`the server did not refuse to start:\n${child.lastLines()}`);
  return { exit, output: child.lines.join("\n") };
}
