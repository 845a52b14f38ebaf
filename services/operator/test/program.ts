/** The operator as a process of its own, as in production, because only a process can be killed in the middle of something. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { programBundle, ROOT } from "@perdure/conformance";
import { freePorts } from "@perdure/servers";

const MAIN = join(ROOT, "services/operator/dist/main.mjs");

/** From the sources as they are now. */
export async function bundleOperator(): Promise<void> {
  await programBundle("services/operator");
}

export class OperatorProgram implements AsyncDisposable {
  readonly #args: readonly string[];
  readonly readyz: string;
  #child: ChildProcess;
  #exited: Promise<unknown>;

  private constructor(args: readonly string[], readyz: string) {
    this.#args = args;
    this.readyz = readyz;
    this.#child = this.#spawn();
    this.#exited = once(this.#child, "exit");
  }

  /** `settings` by their dotted names. */
  static async start(settings: Readonly<Record<string, string | number>>): Promise<OperatorProgram> {
    const [port] = (await freePorts(1)) as [number];
    const all = { ...settings, "probes.bind-address": "127.0.0.1", "probes.bind-port": port };
    const args = Object.entries(all).map(([name, value]) => `--${name}=${value}`);
    return new OperatorProgram(args, `http://127.0.0.1:${port}/readyz`);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** The metrics for Prometheus. Rejects while the port is closed. */
  async metrics(): Promise<string> {
    return (await fetch(this.readyz.replace(/readyz$/, "metrics"))).text();
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Status and text of its probe; empty while the port is closed. */
  async probe(): Promise<string> {
    if (!this.isRunning) throw new Error("the operator has ended");
    const response = await fetch(this.readyz).catch(() => undefined);
    return response === undefined ? "" : `${response.status} ${await response.text()}`;
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Its exit code. */
  async stop(): Promise<number | null> {
    await this.#end("SIGTERM");
    return this.#child.exitCode;
  }

  /** After `kill` or `stop`. */
  startAgain(): void {
    this.#child = this.#spawn();
    this.#exited = once(this.#child, "exit");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return;
    this.#child.kill(signal);
    await this.#exited;
  }

  #spawn(): ChildProcess {
    // Variables for tests are no settings of the program.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PERDURE_")));
    return spawn(process.execPath, [MAIN, ...this.#args], { stdio: "ignore", env });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
