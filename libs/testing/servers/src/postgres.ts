/** The PostgreSQL driver is tested against the real server. PostgreSQL refuses to run as root, so root starts it as `nobody`. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { chmod, chown } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { ChildProgram } from "@perdure/processes";
import { unpackedPackages } from "./debian.js";
import { DATABASE_PAUSE_MS, DATABASE_TRIES_MAX, READY_MS_MAX, REQUEST_MS_MAX } from "./limits.js";
import { onPath } from "./programs.js";
import { launchOnPort, launchServer, ServerProgram } from "./server-program.js";
import { type DataDirectory, dataDirectory } from "./temporary.js";

const run = promisify(execFile);

export interface PostgresServerOptions {
  /** Kept when given, and initialised when empty; else a temporary one that goes with the server. */
  readonly directory?: string;
  /** A free one when absent. */
  readonly port?: number;
  /** Settings of postgresql.conf that add to ours or replace them. */
  readonly config?: Readonly<Record<string, string>>;
}

const CONFIG: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  shared_buffers: "32MB",
  max_connections: "100",
  timezone: "UTC",
};

/**
 * For data that are removed with the server: commits survive a crash of the process, though not of the machine; and tests do not wait for
 * the disk.
 */
const CONFIG_OF_TEMPORARY: Readonly<Record<string, string>> = { fsync: "off" };

const USER = "perdure";

/** The directory with `initdb` and `postgres`, and the environment they need. */
interface Binaries {
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

let binaries: Promise<Binaries> | undefined;

function postgresBinaries(): Promise<Binaries> {
  binaries ??= (async () => {
    const initdb = onPath("initdb");
    // A link leads to the programs of the same version.
    if (initdb !== undefined) return { directory: dirname(realpathSync(initdb)), env: {} };
    const installed = newestBelow("/usr/lib/postgresql");
    if (installed !== undefined) return { directory: installed, env: {} };
    const { root, libraryPath } = await unpackedPackages("postgresql", postgresPackages);
    const fetched = newestBelow(join(root, "usr/lib/postgresql"));
    if (fetched === undefined) throw new Error(`the packages below ${root} hold no PostgreSQL`);
    return { directory: fetched, env: { LD_LIBRARY_PATH: libraryPath } };
  })();
  return binaries;
}

/** Debian keeps each major version in a directory of its own. */
function newestBelow(directory: string): string | undefined {
  const versions = existsSync(directory) ? readdirSync(directory).map(Number).filter(Number.isFinite) : [];
  const newest = versions.sort((a, b) => b - a).find((version) => existsSync(join(directory, String(version), "bin", "initdb")));
  return newest === undefined ? undefined : join(directory, String(newest), "bin");
}

/** `postgresql` only names the version of the release. */
async function postgresPackages(search: (pattern: string) => Promise<string[]>): Promise<string[]> {
  const versions = (await search("^postgresql-[0-9]+$")).map((name) => Number(name.slice("postgresql-".length)));
  if (versions.length === 0) throw new Error("no PostgreSQL is installed and no package of it is known");
  return [`postgresql-${Math.max(...versions)}`];
}

/** Runs a program as a user that is not root, as PostgreSQL requires. */
function unprivileged(command: string, args: readonly string[]): { command: string; args: readonly string[] } {
  if (process.getuid?.() !== 0) return { command, args };
  const userFlags = ["--reuid=nobody", "--regid=nogroup", "--clear-groups"];
  return { command: "setpriv", args: [...capabilityOptions(), ...userFlags, "--", command, ...args] };
}

/** Bits of the capability sets in /proc, see capabilities(7). */
const DAC_OVERRIDE = 1n << 1n;
const SETPCAP = 1n << 8n;

/**
 * Root's cache and directories are often closed to other users, and `nobody` must get through them to the programs and the data. The one
 * capability it keeps for that also counts in access(2), which drops it unless configured otherwise. Without the right to give it away,
 * only reachable directories work.
 */
function capabilityOptions(): readonly string[] {
  const ours = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0"}`);
  if ((ours & DAC_OVERRIDE) === 0n || (ours & SETPCAP) === 0n) return [];
  return ["--securebits=+no_setuid_fixup", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
}

async function giveToUnprivileged(directory: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const idOf = async (flag: string): Promise<number> => Number((await run("id", [flag, "nobody"])).stdout);
  await chown(directory, await idOf("-u"), await idOf("-g"));
}

export class PostgresServer extends ServerProgram implements AsyncDisposable {
  readonly port: number;
  readonly directory: string;
  /** "Fast": open transactions are rolled back, clients are sent away. SIGTERM would wait for the clients. */
  override readonly stopSignal = "SIGINT";
  readonly #data: DataDirectory;

  private constructor(child: ChildProgram, port: number, data: DataDirectory) {
    super(child, () => accepts(port));
    this.port = port;
    this.#data = data;
    this.directory = data.path;
  }

  static async start(options: PostgresServerOptions): Promise<PostgresServer> {
    const data = await dataDirectory("postgres", options.directory);
    const config = { ...CONFIG, ...(options.directory === undefined ? CONFIG_OF_TEMPORARY : {}), ...options.config };
    try {
      await initialise(data.path);
      const portInUse = /could not create any TCP\/IP sockets|Address already in use/;
      const { child, port } = await launchOnPort(options.port, portInUse, (chosen) => launch(chosen, data.path, config));
      return new PostgresServer(child, port, data);
    } catch (cause) {
      await data.remove();
      throw cause;
    }
  }

  /** URL of the database `postgres`, whose owner may create others. */
  get url(): string {
    return `postgres://${USER}@127.0.0.1:${this.port}/postgres`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop({ signal: "SIGQUIT" }); // "Immediate": as quick as a kill, but no child outlives it.
    await this.#data.remove();
  }
}

export function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  return PostgresServer.start(options);
}

async function initialise(directory: string): Promise<void> {
  if (existsSync(join(directory, "PG_VERSION"))) return;
  const { directory: bin, env } = await postgresBinaries();
  await chmod(directory, 0o700);
  await giveToUnprivileged(directory);
  const { command, args } = unprivileged(join(bin, "initdb"), [
    ...["-D", directory, "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
  ]);
  await run(command, [...args], { cwd: directory, env: { ...process.env, ...env }, timeout: READY_MS_MAX });
}

async function launch(port: number, directory: string, config: Readonly<Record<string, string>>): Promise<ChildProgram> {
  const { directory: bin, env } = await postgresBinaries();
  const settings = Object.entries({ ...config, port: String(port) }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const command = unprivileged(join(bin, "postgres"), ["-D", directory, ...settings]);
  return launchServer({ ...command, cwd: directory, env }, () => accepts(port));
}

/** Connects as a client does: once start-up and recovery are over the server requests authentication. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const finish = (ready: boolean): void => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(REQUEST_MS_MAX, () => finish(false));
    socket.once("error", () => finish(false)).once("close", () => finish(false));
    socket.once("connect", () => socket.write(startupMessage()));
    // `R` requests or grants authentication; `E` is an error while it starts, stops or recovers.
    socket.once("data", (answer) => finish(answer[0] === 0x52));
  });
}

function startupMessage(): Buffer {
  const text = Buffer.from(`\0\x03\0\0user\0${USER}\0database\0postgres\0\0`, "latin1");
  const length = Buffer.alloc(4);
  length.writeInt32BE(text.length + 4);
  return Buffer.concat([length, text]);
}

/** Starts the server after a crash. The database's children need a moment to notice that they are orphans; until then it does not start. */
export async function startPostgresPatiently(options: PostgresServerOptions): Promise<PostgresServer> {
  for (let tries = 1; ; tries++) {
    try {
      return await startPostgres(options);
    } catch (cause) {
      const isHeld = cause instanceof Error && /pre-existing shared memory block|lock file .* already exists/.test(cause.message);
      if (!isHeld || tries >= DATABASE_TRIES_MAX) throw cause;
      await delay(DATABASE_PAUSE_MS);
    }
  }
}
