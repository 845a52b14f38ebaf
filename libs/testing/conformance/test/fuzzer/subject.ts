/** Observes a program under fuzzing from outside: its process, its file descriptors, its memory, and a healthy request. */

import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import type { ReadyFacts, ServiceProgram } from "@perdure/dev-cluster";
import { eventually } from "../../src/eventually.js";
import { SERVER_START_MS } from "../../src/limits.js";
import { type DrawnConnection, sendConnection } from "./connection.js";
import type { Speech } from "./draw.js";
import type { Requests } from "./draw-http2.js";
import { AT_A_TIME, HEALTHY_MS } from "./limits.js";

/** Healthy requests come from another address than the fuzzer's, so that limits per address do not affect them. */
const HEALTHY_ADDRESS = "127.77.0.1";

/** A program under test. Its listeners share its process. */
export interface Subject {
  readonly name: string;
  readonly pid: number;
  readonly isRunning: boolean;
  readonly lastLines: readonly string[];
  /** Starts the program again after its death, with the same settings. */
  restart(): Promise<void>;
}

export interface Target {
  /** Name of program and listener, e.g. `tunnel-relay proxy`: with the seed it determines every connection. */
  readonly name: string;
  readonly subject: Subject;
  readonly speech: Speech;
  readonly requests: Requests;
  /** Port that the program listens on; undefined when it connects to the fuzzer. */
  readonly port: (() => number) | undefined;
  /** Sends them; resolves with how many were sent when all have ended. Rejects when the listener takes none. */
  send(connections: Iterable<DrawnConnection>): Promise<number>;
  /** Rejects when a well-formed request is not answered as it should be. */
  healthy(): Promise<void>;
}

/** Facts of `ready` change with each start when ports are free ones. */
export class ProgramSubject implements Subject {
  readonly name: string;
  readonly #program: ServiceProgram;
  #facts: ReadyFacts;

  constructor(name: string, program: ServiceProgram, facts: ReadyFacts) {
    this.name = name;
    this.#program = program;
    this.#facts = facts;
  }

  get pid(): number {
    return this.#program.pid;
  }

  get isRunning(): boolean {
    return this.#program.isRunning;
  }

  get lastLines(): readonly string[] {
    return this.#program.lines.slice(-30);
  }

  /** Port of the listener that the program reports under this name. */
  portOf(fact: string): number {
    const port = /:(\d+)(\/|$)/.exec(this.#facts[fact] ?? "")?.[1];
    if (port === undefined) throw new Error(`${this.name} reports no port of '${fact}': ${JSON.stringify(this.#facts)}`);
    return Number(port);
  }

  async restart(): Promise<void> {
    if (this.#program.isRunning) await this.#program.kill();
    await this.#program.startAgain();
    this.#facts = await this.#program.ready();
  }
}

/** Sends them to a port, some at a time. */
export async function sendAll(port: number, connections: Iterable<DrawnConnection>, atATime = AT_A_TIME): Promise<number> {
  let count = 0;
  const iterator = connections[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
      await sendConnection(port, next.value);
      count++;
    }
  };
  await Promise.all(Array.from({ length: atATime }, worker));
  return count;
}

/** Rejects when the answer has another status or does not come in time. */
export function expectStatus(
  url: string,
  status: number,
  {
    method = "GET",
    headers = {},
    body,
  }: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(HEALTHY_MS);
    const sent = request(url, { method, headers, agent: false, localAddress: HEALTHY_ADDRESS, signal }, (response) => {
      response.on("error", reject);
      response.resume().on("end", () => {
        if (response.statusCode === status) resolve();
        else reject(new Error(`${method} ${url} was answered with ${response.statusCode}, not ${status}`));
      });
    });
    sent.on("error", (cause) => reject(new Error(`${method} ${url}: ${cause.message}`, { cause })));
    sent.end(body);
  });
}

/** The standard health service of gRPC answers that the process serves. */
export function expectGrpcHealth(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`, {
      createConnection: () => connect({ port, host: "127.0.0.1", localAddress: HEALTHY_ADDRESS }),
    });
    const timer = setTimeout(() => session.destroy(new Error(`no health of gRPC within ${HEALTHY_MS} ms`)), HEALTHY_MS);
    session.on("error", reject);
    session.on("close", () => {
      clearTimeout(timer);
      reject(new Error("the connection of a health check was closed"));
    });
    const headers = {
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      te: "trailers",
    };
    const stream = session.request(headers);
    stream.on("error", reject);
    stream.resume();
    stream.on("trailers", (trailers) => {
      if (trailers["grpc-status"] === "0") resolve();
      else reject(new Error(`the health service answered ${String(trailers["grpc-status"])}`));
    });
    stream.on("end", () => session.destroy());
    stream.end(Buffer.alloc(5)); // An empty message: the process as a whole.
  });
}

/** A relay starts the handshake with every client that connects to its listener for tunnels: the preface of HTTP/2. */
export function expectRelayPreface(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: HEALTHY_ADDRESS });
    socket.setTimeout(HEALTHY_MS, () => socket.destroy(new Error(`no handshake of the relay within ${HEALTHY_MS} ms`)));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the relay closed a fresh connection")));
    socket.once("data", (chunk: Buffer) => {
      if (chunk.subarray(0, 3).toString() === "PRI") resolve();
      else reject(new Error(`the relay began with ${chunk.subarray(0, 24).toString("hex")}`));
      socket.destroy();
    });
  });
}

export async function untilHealthy(target: Pick<Target, "healthy" | "name">): Promise<void> {
  await eventually(`${target.name} is healthy`, () => target.healthy().then(() => true), SERVER_START_MS);
}
