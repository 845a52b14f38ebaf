/** An endpoint in another language: a program on a port that can be crashed and restarted on the same port. */
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { freePorts } from "@perdure/servers";
import { ChildProgram } from "../child.js";
import { eventually } from "../eventually.js";
import type { BuildStep } from "./language.js";
import { ENDPOINT_START_MS, PROBE_MS } from "./limits.js";

export class SdkProgram implements AsyncDisposable {
  readonly port: number;
  readonly #step: BuildStep;
  readonly #environment: NodeJS.ProcessEnv;
  #child: ChildProgram;

  private constructor(child: ChildProgram, step: BuildStep, environment: NodeJS.ProcessEnv, port: number) {
    this.#child = child;
    this.#step = step;
    this.#environment = environment;
    this.port = port;
  }

  /** Resolves when it accepts connections; rejects with its last lines when it ends instead. */
  static async start(step: BuildStep, environment: Readonly<Record<string, string>>): Promise<SdkProgram> {
    // The programs do not report their port, so the port is chosen for them.
    const [port] = (await freePorts(1)) as [number];
    const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...step.env, ...environment, PORT: String(port) };
    return new SdkProgram(await launch(step, env, port), step, env, port);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get lastLines(): string {
    return this.#child.lastLines();
  }

  /** Status of an unsigned GET over HTTP/2. */
  statusOfUnsigned(path: string): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const session = connectHttp2(this.url);
      session.once("error", reject);
      const stream = session.request({ ":path": path });
      stream.once("error", reject);
      stream.once("response", (headers) => {
        resolve(headers[":status"]);
        session.destroy();
      });
    });
  }

  /** Sends SIGKILL and starts the program again on the same port. */
  async crashAndComeBack(): Promise<void> {
    await this.#child.kill();
    this.#child = await launch(this.#step, this.#environment, this.port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill(); // The endpoint holds no state that a crash could lose.
  }
}

async function launch(step: BuildStep, env: NodeJS.ProcessEnv, port: number): Promise<ChildProgram> {
  const child = ChildProgram.start(step.command, step.args, env);
  try {
    await eventually(
      "the endpoint listens",
      () => (child.exit === undefined ? isListening(port) : Promise.resolve(true)), // A process that has ended is not waited for.
      ENDPOINT_START_MS,
    );
    if (child.exit !== undefined) throw new Error("the endpoint ended");
    return child;
  } catch (cause) {
    await child.kill();
    throw new Error(`${step.command} does not serve:\n${child.lastLines()}`, { cause });
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: PROBE_MS });
    const answer = (is: boolean) => () => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", answer(true));
    socket.once("error", answer(false));
    socket.once("timeout", answer(false));
  });
}
