/** An endpoint in another language: a program on a port that can be crashed and restarted on the same port. */

import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { ChildProgram } from "@perdure/processes";
import { freePorts } from "@perdure/servers";
import { TIMEOUT_FACTOR } from "@perdure/testkit";
import type { BuildStep } from "./language.js";
import { ENDPOINT_START_MS, PROBE_MS } from "./limits.js";

export class SdkProgram implements AsyncDisposable {
  readonly port: number;
  readonly #child: ChildProgram;

  private constructor(child: ChildProgram, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Resolves when it accepts connections; rejects with its last lines when it ends instead. */
  static async start(step: BuildStep, environment: Readonly<Record<string, string>>): Promise<SdkProgram> {
    // The programs do not report their port, so the port is chosen for them.
    const [port] = (await freePorts(1)) as [number];
    const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...step.env, ...environment, PORT: String(port) };
    const program = new SdkProgram(await ChildProgram.start({ command: step.command, args: step.args, env }), port);
    await program.#listens();
    return program;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    await this.#child.kill();
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
    await this.kill();
    await this.#child.startAgain();
    await this.#listens();
  }

  async #listens(): Promise<void> {
    try {
      await this.#child.ready(() => isListening(this.port), ENDPOINT_START_MS * TIMEOUT_FACTOR);
    } catch (cause) {
      await this.#child.kill();
      throw cause;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill(); // The endpoint holds no state that a crash could lose.
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
