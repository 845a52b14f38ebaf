/** The operator as a process of its own, as in production, because only a process can be killed in the middle of something. */
import { programBundle, ServiceProgram } from "@perdure/dev-cluster";
import { freePorts } from "@perdure/servers";

/** Bundles the operator from the sources as they are now, before a test has to wait for it. */
export async function bundleOperator(): Promise<void> {
  await programBundle("services/operator");
}

export class OperatorProgram implements AsyncDisposable {
  readonly readyz: string;
  readonly #program: ServiceProgram;

  private constructor(program: ServiceProgram, readyz: string) {
    this.#program = program;
    this.readyz = readyz;
  }

  /** `settings` by their dotted names. */
  static async start(settings: Readonly<Record<string, string | number>>): Promise<OperatorProgram> {
    const [port] = (await freePorts(1)) as [number];
    const probes = { "probes.bind-address": "127.0.0.1", "probes.bind-port": port };
    const program = await ServiceProgram.launch({ service: "operator", settings: { ...settings, ...probes } });
    return new OperatorProgram(program, `http://127.0.0.1:${port}/readyz`);
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** The metrics for Prometheus. Rejects while the port is closed. */
  async metrics(): Promise<string> {
    return (await fetch(this.readyz.replace(/readyz$/, "metrics"))).text();
  }

  get isRunning(): boolean {
    return this.#program.isRunning;
  }

  /** Status and text of its probe; empty while the port is closed. */
  async probe(): Promise<string> {
    if (!this.isRunning) throw new Error(`the operator has ended:\n${this.#program.lines.slice(-10).join("\n")}`);
    const response = await fetch(this.readyz).catch(() => undefined);
    return response === undefined ? "" : `${response.status} ${await response.text()}`;
  }

  async kill(): Promise<void> {
    await this.#program.kill();
  }

  /** Stops the program and returns its exit code. */
  async stop(): Promise<number | null> {
    return (await this.#program.stop()).code;
  }

  /** Starts the program again after `kill` or `stop`. */
  startAgain(): Promise<void> {
    return this.#program.startAgain();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
