/**
 * What a demo plays on: a Perdure server and the endpoint with the services of all patterns as processes, which it may kill with SIGKILL,
 * and the outside world in this process.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ChildProgram } from "@perdure/processes/child-program";
import { connect, type Ingress } from "@restatedev/restate-sdk-clients";
import { freePort } from "#kit/free-port";
import { type EndpointProgram, TYPESCRIPT } from "#kit/languages";
import { OutsideWorld } from "#kit/outside-world";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../../..");
const POLL_MS = 20;
const WAIT_MS_MAX = 60_000;

/** The result of one `check`. */
export interface Check {
  readonly text: string;
  readonly isTrue: boolean;
}

/** Where a demo reports to: a terminal, or a test. */
export interface StageOutput {
  said(text: string): void;
  crashed(text: string): void;
  checked(check: Check): void;
}

interface StageStart {
  readonly kafkaBrokers?: string;
  /** The endpoint with the services; the one in TypeScript when absent. */
  readonly endpoint?: EndpointProgram;
}

interface StageOptions {
  readonly output: StageOutput;
  readonly kafkaBrokers: string | undefined;
}

interface Programs {
  readonly server: ChildProgram;
  readonly endpoint: ChildProgram;
  readonly endpointPort: number;
}

export class Stage implements AsyncDisposable {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  readonly outside: OutsideWorld;
  /** Value of `bootstrap.servers`, for patterns that need Kafka. */
  readonly kafkaBrokers: string | undefined;
  /** The client of the SDK. It repeats requests that fail because the server is down; all requests of the demos are safe to repeat. */
  readonly ingress: Ingress;
  readonly #programs: Programs;
  readonly #directory: string;
  readonly #output: StageOutput;

  private constructor(urls: Urls, outside: OutsideWorld, programs: Programs, directory: string, options: StageOptions) {
    this.ingressUrl = urls.ingress;
    this.adminUrl = urls.admin;
    this.outside = outside;
    this.ingress = connect({ url: urls.ingress, retry: { maxAttempts: 100, initialInterval: 50, maxInterval: 500 } });
    this.#programs = programs;
    this.#directory = directory;
    this.#output = options.output;
    this.kafkaBrokers = options.kafkaBrokers;
  }

  /** Resolves when the services of all patterns are registered. Data are in a temporary directory. */
  static async start(output: StageOutput, { kafkaBrokers, endpoint: program = TYPESCRIPT }: StageStart = {}): Promise<Stage> {
    const directory = mkdtempSync(join(tmpdir(), "perdure-patterns-"));
    const [ingressPort, adminPort, endpointPort] = [await freePort(), await freePort(), await freePort()];
    const urls = { ingress: `http://127.0.0.1:${ingressPort}`, admin: `http://127.0.0.1:${adminPort}` };
    const outside = await OutsideWorld.start();
    const [server, endpoint] = await Promise.all([
      ChildProgram.start({
        name: "the server",
        command: join(ROOT, "perdure"),
        args: ["server"],
        cwd: directory,
        env: {
          PATH: process.env["PATH"],
          PERDURE_BASE_DIR: join(directory, "data"),
          PERDURE_INGRESS__BIND_PORT: String(ingressPort),
          PERDURE_ADMIN__BIND_PORT: String(adminPort),
        },
      }),
      ChildProgram.start({
        name: "the endpoint",
        ...program,
        env: { ...process.env, PORT: String(endpointPort), OUTSIDE_URL: outside.url, RESTATE_LOGGING: "ERROR" },
      }),
    ]);
    const programs = { server, endpoint, endpointPort };
    const stage = new Stage(urls, outside, programs, directory, { output, kafkaBrokers });
    await Promise.all([stage.#serverReady(), stage.#endpointReady()]);
    await stage.admin("POST", "/deployments", { uri: `http://127.0.0.1:${endpointPort}` });
    return stage;
  }

  /** Reports what happens. */
  say(text: string): void {
    this.#output.said(text);
  }

  /** Reports whether the demo came out as expected. */
  check(text: string, isTrue: boolean): void {
    this.#output.checked({ text, isTrue });
  }

  /** Kills the server or the endpoint with SIGKILL and starts it again on the same data. Resolves when it is ready. */
  async crash(what: "server" | "endpoint"): Promise<void> {
    const program = this.#programs[what];
    await program.kill();
    this.#output.crashed(`killed the ${what} with SIGKILL`);
    await program.startAgain();
    await (what === "server" ? this.#serverReady() : this.#endpointReady());
    this.#output.said(`the ${what} runs again`);
  }

  /** Sends a request to the management API. Rejects with the text of any response but success. */
  async admin(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<unknown> {
    const init: RequestInit = { method };
    if (body !== undefined) Object.assign(init, { headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    const response = await fetch(`${this.adminUrl}${path}`, init);
    const answer = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${answer}`);
    return answer === "" ? undefined : JSON.parse(answer);
  }

  /** Polls until the check is true. Rejects when it never is. */
  async until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
    for (const deadline = performance.now() + WAIT_MS_MAX; !(await isTrue()); await delay(POLL_MS)) {
      if (performance.now() > deadline) throw new Error(`waited ${WAIT_MS_MAX / 1000} s in vain until ${what}`);
    }
  }

  async #serverReady(): Promise<void> {
    await this.#programs.server.ready(() => isHealthy(`${this.adminUrl}/health`, `${this.ingressUrl}/restate/health`));
  }

  async #endpointReady(): Promise<void> {
    const { endpoint, endpointPort } = this.#programs;
    await endpoint.ready(() => isListening(endpointPort));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#programs.server.stop();
    await this.#programs.endpoint.stop();
    await this.outside[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

interface Urls {
  readonly ingress: string;
  readonly admin: string;
}

async function isHealthy(...urls: readonly string[]): Promise<boolean> {
  for (const url of urls) {
    const isOk = await fetch(url).then(
      async (response) => {
        await response.body?.cancel();
        return response.ok;
      },
      () => false,
    );
    if (!isOk) return false;
  }
  return true;
}
