/**
 * Plays every system outside of Perdure in the demos. It performs an action once per idempotency key, as payment providers do, records what
 * it performed, and can hold a response back, so that a demo kills a process at exactly the moment that hurts: the action was performed,
 * its result is not stored yet.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** An answer of an outside system. Without `status` it is 200. */
export interface Reply {
  readonly status?: number;
  readonly body: unknown;
}

/** `count`: how many times the action was performed, this one included. */
export type Responder = (body: unknown, count: number) => Reply;

/** A response that is held back. */
export interface HeldResponse {
  /** Resolves when the action was performed and its response is held. */
  readonly performed: Promise<void>;
  /** Lets the response go. */
  release(): void;
}

interface Performed {
  readonly action: string;
  readonly key: string;
  readonly body: unknown;
  readonly reply: Reply;
}

const PERFORMED_MAX = 10_000;

export class OutsideWorld implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #responders = new Map<string, Responder>();
  readonly #performed = new Map<string, Performed>();
  readonly #requestCounts = new Map<string, number>();
  readonly #holds = new Map<string, { readonly performed: () => void; readonly released: Promise<void> }>();

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<OutsideWorld> {
    let world: OutsideWorld | undefined;
    const server = createServer((request, response) => void world?.respond(request, response));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    world = new OutsideWorld(server);
    return world;
  }

  /** Defines the response to an action. Without a definition an action succeeds with `{}`. */
  on(action: string, responder: Responder): void {
    this.#responders.set(action, responder);
  }

  /** Holds back the response to the next request for the action. */
  hold(action: string): HeldResponse {
    const performed = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    this.#holds.set(action, { performed: performed.resolve, released: released.promise });
    return { performed: performed.promise, release: released.resolve };
  }

  /** Bodies of the actions that were performed with success, in order, each once per key. */
  performed(action: string): readonly unknown[] {
    return [...this.#performed.values()]
      .filter((one) => one.action === action && (one.reply.status ?? 200) < 400)
      .map(({ body }) => body);
  }

  /** Number of requests, repeated ones included. */
  requestCount(action: string): number {
    return this.#requestCounts.get(action) ?? 0;
  }

  async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined); // The process that waited for it was killed.
    request.on("error", () => undefined);
    const action = (request.url ?? "/").slice(1);
    const key = String(request.headers["idempotency-key"] ?? "");
    const body: unknown = await text(request)
      .then(JSON.parse)
      .catch(() => undefined);
    this.#requestCounts.set(action, this.requestCount(action) + 1);
    const reply = this.#perform(action, key, body);
    const hold = this.#holds.get(action);
    if (hold !== undefined) {
      this.#holds.delete(action);
      hold.performed();
      await hold.released;
    }
    response.writeHead(reply.status ?? 200, { "content-type": "application/json" }).end(JSON.stringify(reply.body));
  }

  #perform(action: string, key: string, body: unknown): Reply {
    const name = `${action} ${key}`;
    const earlier = this.#performed.get(name);
    if (earlier !== undefined) return earlier.reply;
    if (this.#performed.size >= PERFORMED_MAX) return { status: 503, body: "too many actions for a demo" };
    const count = this.performed(action).length + 1;
    const reply = this.#responders.get(action)?.(body, count) ?? { body: {} };
    // A failure of the system is not remembered: the next attempt may succeed.
    if ((reply.status ?? 200) < 500) this.#performed.set(name, { action, key, body, reply });
    return reply;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }
}
