/** Why: programs also dial: endpoints and relays. Here the fuzzer listens, and what dials it is answered with a drawn connection. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { TestListener } from "../../src/sdk-endpoint.js";
import { converse, type DrawnConnection } from "./connection.js";

const POLL_MS = 20;
/** Nothing has dialled for so long: the program pauses between its tries, and the batch is over. */
const QUIET_MS = 4_000;

/** Ports that forward to a server which keeps to the protocol, until they are hostile. */
export class HostilePorts implements AsyncDisposable {
  readonly ports: readonly number[];
  readonly #listeners: readonly TestListener[];
  readonly #honestPort: () => number | undefined;
  #pending: Iterator<DrawnConnection> | undefined;
  #sent = 0;
  #busy = 0;
  #lastMs = 0;

  private constructor(listeners: readonly TestListener[], honestPort: () => number | undefined) {
    this.#listeners = listeners;
    this.#honestPort = honestPort;
    this.ports = listeners.map(({ port }) => port);
  }

  /** `honestPort`: where connections go when nothing hostile is to be sent; undefined closes them. */
  static async open(count: number, honestPort: () => number | undefined): Promise<HostilePorts> {
    const handler: { accept: (socket: Socket) => void } = { accept: (socket) => void socket.destroy() };
    const servers: Server[] = Array.from({ length: count }, () => createServer((socket) => handler.accept(socket)));
    const ports = new HostilePorts(await Promise.all(servers.map((server) => TestListener.open(server, 0))), honestPort);
    handler.accept = (socket) => ports.#accept(socket);
    return ports;
  }

  /** Connections that are there are dropped, and each new one gets one of these. Resolves with their number when there are none left, nothing dials any more, or `withinMs` have passed. */
  async send(connections: Iterable<DrawnConnection>, withinMs: number): Promise<number> {
    this.#pending = connections[Symbol.iterator]();
    this.#sent = 0;
    this.#lastMs = performance.now();
    for (const listener of this.#listeners) listener.dropConnections();
    const deadline = performance.now() + withinMs;
    const isOver = (): boolean =>
      (this.#pending === undefined && this.#busy === 0) ||
      performance.now() > deadline ||
      (this.#busy === 0 && performance.now() - this.#lastMs > QUIET_MS);
    while (!isOver()) await delay(POLL_MS);
    this.#pending = undefined;
    return this.#sent;
  }

  #accept(socket: Socket): void {
    socket.on("error", () => undefined);
    const next = this.#pending?.next();
    if (next !== undefined && next.done !== true) return void this.#answer(socket, next.value);
    this.#pending = undefined;
    const port = this.#honestPort();
    if (port === undefined) return void socket.destroy();
    const upstream = connect({ port, host: "127.0.0.1" });
    upstream.on("error", () => socket.destroy());
    upstream.on("close", () => socket.destroy());
    socket.on("close", () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
  }

  async #answer(socket: Socket, connection: DrawnConnection): Promise<void> {
    this.#busy++;
    this.#sent++;
    this.#lastMs = performance.now();
    const closed = new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
    });
    socket.resume();
    await converse(socket, closed, connection);
    this.#busy--;
    this.#lastMs = performance.now();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.close()));
  }
}
