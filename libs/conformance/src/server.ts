/** Why: a real `perdure server` on free ports and a data directory of its own, to be started, killed and started again. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executable } from "./bundle.js";
import { Child, type Exit } from "./child.js";
import { SERVER_START_MS, SERVER_STOP_MS } from "./limits.js";

/** By their dotted names, e.g. `{ "worker.cleanup-interval": "200ms" }`. */
export type Settings = Readonly<Record<string, string | number>>;

export interface ServerOptions {
  readonly settings?: Settings;
  /** Kept when given; else one is made and removed with the server. */
  readonly baseDir?: string;
}

interface Doors {
  readonly ingress: string;
  readonly admin: string;
}

/** `ingress.bind-port` becomes `PERDURE_INGRESS__BIND_PORT`. */
export function environmentOf(settings: Settings): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      `PERDURE_${name.replaceAll(".", "__").replaceAll("-", "_").toUpperCase()}`,
      String(value),
    ]),
  );
}

function processEnvironment(settings: Settings): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: process.env["HOME"], ...environmentOf(settings) };
}

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), "perdure-conformance-"));
}

export class Server implements AsyncDisposable {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  readonly baseDir: string;
  readonly #settings: Settings;
  readonly #ownsBaseDir: boolean;
  #child: Child;

  private constructor(child: Child, doors: Doors, settings: Settings, baseDir: string, ownsBaseDir: boolean) {
    this.#child = child;
    this.ingressUrl = doors.ingress;
    this.adminUrl = doors.admin;
    this.#settings = settings;
    this.baseDir = baseDir;
    this.#ownsBaseDir = ownsBaseDir;
  }

  /** Resolves when both doors answer; rejects with the server's last words when it ends instead. */
  static async start(options: ServerOptions = {}): Promise<Server> {
    const baseDir = options.baseDir ?? temporaryDirectory();
    const settings = { "ingress.bind-port": 0, "admin.bind-port": 0, ...options.settings, "base-dir": baseDir };
    const { child, doors } = await launch(settings);
    return new Server(child, doors, settings, baseDir, options.baseDir === undefined);
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

  /** SIGKILL: nothing is flushed, nobody is told. */
  kill(): Promise<Exit> {
    return this.#child.kill();
  }

  /** SIGTERM; resolves with how it ended. */
  stop(): Promise<Exit> {
    return this.#child.stop(SERVER_STOP_MS);
  }

  /** On the same data and the same ports, after `kill` or `stop`; other settings stay for later starts, too. */
  async startAgain(): Promise<void> {
    if (this.isRunning) throw new Error("the server is still running");
    const { child } = await launch({
      ...this.#settings,
      "ingress.bind-port": new URL(this.ingressUrl).port,
      "admin.bind-port": new URL(this.adminUrl).port,
    });
    this.#child = child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) await this.stop();
    if (this.#ownsBaseDir) rmSync(this.baseDir, { recursive: true, force: true });
  }
}

async function launch(settings: Settings): Promise<{ child: Child; doors: Doors }> {
  const path = await executable();
  let opened: (doors: Doors) => void = () => {};
  const ready = new Promise<Doors>((resolve) => {
    opened = resolve;
  });
  const child = Child.start(path, ["server"], processEnvironment({ "log-format": "json", ...settings }), (line) => {
    const doors = doorsIn(line);
    if (doors !== undefined) opened(doors);
  });
  let patience: NodeJS.Timeout | undefined;
  const outcome = await Promise.race([
    ready,
    child.exited.then(() => "ended" as const),
    new Promise<"late">((resolve) => {
      patience = setTimeout(() => resolve("late"), SERVER_START_MS);
    }),
  ]);
  clearTimeout(patience);
  if (outcome === "ended" || outcome === "late") {
    await child.kill();
    throw new Error(`the server ${outcome === "late" ? "was not ready in time" : "ended"}:\n${child.lastWords()}`);
  }
  return { child, doors: outcome };
}

/** From the log line `ready`. */
function doorsIn(line: string): Doors | undefined {
  if (!line.includes('"msg":"ready"')) return undefined;
  const { ingress, admin } = JSON.parse(line) as Doors;
  return { ingress: loopback(ingress), admin: loopback(admin) };
}

/** The server says `localhost`; naming the address saves every request a look-up and a failed try with the other family. */
function loopback(url: string): string {
  return url.replace("localhost", "127.0.0.1").replace(/\/$/, "");
}

export interface Refusal {
  readonly exit: Exit;
  readonly output: string;
}

/** For servers that must not start: runs until it ends by itself. Rejects (and ends it) when it starts after all. */
export async function expectRefusal(settings: Settings, args: readonly string[] = []): Promise<Refusal> {
  const path = await executable();
  const child = Child.start(
    path,
    ["server", ...args],
    processEnvironment({ "ingress.bind-port": 0, "admin.bind-port": 0, ...settings }),
  );
  const patience = setTimeout(() => child.signal("SIGKILL"), SERVER_START_MS);
  const started = setInterval(() => {
    if (child.lines.some((line) => doorsIn(line) !== undefined)) child.signal("SIGKILL");
  }, 20);
  const exit = await child.exited;
  clearTimeout(patience);
  clearInterval(started);
  if (exit.signal !== null) throw new Error(`the server did not refuse to start:\n${child.lastWords()}`);
  return { exit, output: child.lines.join("\n") };
}
