/** Starting, measuring and stopping the two servers under test. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, homedir, platform, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ChildProgram } from "@perdure/processes/child-program";

export const root = resolve(import.meta.dirname, "../../../..");
export const REFERENCE_VERSION = "1.7.12";
const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** The reference server from npm, kept in the cache and never in the project. */
export function referenceBinary() {
  const home = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "perdure", `reference-${REFERENCE_VERSION}`);
  if (!existsSync(join(home, "node_modules/@restatedev/restate-server"))) {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "package.json"), '{"private":true}\n');
    console.log(`fetching the reference server ${REFERENCE_VERSION} from npm …`);
    execFileSync("npm", ["install", "--no-audit", "--no-fund", `@restatedev/restate-server@${REFERENCE_VERSION}`], {
      cwd: home,
      stdio: "ignore",
    });
  }
  // The package's own command is a wrapper; what is measured is the program itself.
  const own = createRequire(join(home, "node_modules/@restatedev/restate-server/package.json"));
  return own.resolve(`@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`);
}

/** CPU seconds (user + system, all threads) of a process so far. */
export function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export function residentMiB(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, probe, withinMs = 60_000) {
  const end = performance.now() + withinMs;
  for (;;) {
    if (await probe().catch(() => false)) return;
    if (performance.now() > end) throw new Error(`${what}: not within ${withinMs} ms`);
    await sleep(10);
  }
}

export class Server {
  /**
   * `kind` is "reference" or "perdure"; ports are `port` (ingress) and `port + 1` (admin); `environment` has further settings; `program` is
   * another build of `perdure`.
   */
  constructor(kind, port, environment = {}, program = join(root, "perdure")) {
    this.environment = environment;
    this.program = program;
    this.kind = kind;
    this.ingress = `http://127.0.0.1:${port}`;
    this.admin = `http://127.0.0.1:${port + 1}`;
    this.port = port;
    this.data = mkdtempSync(join(tmpdir(), `bench-${kind}-`));
  }

  /** Resolves with the milliseconds until both doors answered health checks. */
  async start() {
    const began = performance.now();
    if (this.kind === "reference") {
      const config = join(this.data, "config.toml");
      writeFileSync(
        config,
        `base-dir = "${this.data}/data"\n[ingress]\nbind-address = "127.0.0.1:${this.port}"\n[admin]\nbind-address = "127.0.0.1:${this.port + 1}"\n`,
      );
      this.child = await ChildProgram.start({
        command: referenceBinary(),
        group: "shared", // Ctrl-C ends it with the bench.
        args: ["--config-file", config],
        env: { ...process.env, DO_NOT_TRACK: "1", RESTATE_DISABLE_TELEMETRY: "true" },
      });
    } else {
      this.child = await ChildProgram.start({
        command: this.program,
        group: "shared",
        args: ["server", "--base-dir", join(this.data, "data")],
        env: {
          ...process.env,
          PERDURE_INGRESS__BIND_PORT: String(this.port),
          PERDURE_ADMIN__BIND_PORT: String(this.port + 1),
          PERDURE_INGRESS__BIND_ADDRESS: "127.0.0.1",
          PERDURE_ADMIN__BIND_ADDRESS: "127.0.0.1",
          ...this.environment,
        },
      });
    }
    await until(`${this.kind} to be healthy`, async () => {
      const answers = await Promise.all([fetch(`${this.admin}/health`), fetch(`${this.ingress}/restate/health`)]);
      return answers.every((answer) => answer.ok);
    });
    return performance.now() - began;
  }

  get pid() {
    return this.child.pid;
  }

  async register(uri) {
    const answer = await fetch(`${this.admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri, force: true }),
    });
    if (!answer.ok) throw new Error(`${this.kind}: registering answered ${answer.status} ${await answer.text()}`);
  }

  async stop(signal = "SIGTERM") {
    await this.child?.stop({ signal, withinMs: 60_000 });
    this.child = undefined;
  }

  async [Symbol.asyncDispose]() {
    await this.stop("SIGKILL");
    rmSync(this.data, { recursive: true, force: true });
  }
}

export async function startEndpoint(port) {
  const args = [join(import.meta.dirname, "endpoint.mjs"), String(port)];
  const child = await ChildProgram.start({ name: "the endpoint", command: process.execPath, args, group: "shared" });
  await child.ready(() => child.lines.length > 0);
  return { pid: child.pid, uri: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => child.signal("SIGKILL") };
}
