/**
 * A TCP proxy that simulates failures of networks: it can refuse connections, delay all bytes or those of one direction, break one side
 * only, or be slow.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { HELD_BYTES_MAX } from "./limits.js";

/**
 * Modes of the network:
 *
 *     whole     bytes pass
 *     refused   connections break, new ones are refused
 *     silent    bytes are delayed until the mode is whole again, as with an unplugged cable
 *     mute      as silent, but only for bytes of the client
 *     deaf      as silent, but only for bytes of the server
 *     halfOpen  the client's side breaks and the server's stays open
 *     slow      every chunk arrives late
 */
export type NetworkMode = "whole" | "refused" | "silent" | "mute" | "deaf" | "halfOpen" | "slow";

const SLOW_MS = 60;

type Direction = "toServer" | "toClient";

const HELD: Readonly<Record<Direction, ReadonlySet<NetworkMode>>> = {
  toServer: new Set<NetworkMode>(["silent", "mute"]),
  toClient: new Set<NetworkMode>(["silent", "deaf"]),
};

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly held: Record<Direction, Buffer[]>;
  heldBytes: number;
  /** The beginning of a reply line, as far as it may be a refusal. */
  begun: string;
}

export class FaultyProxy implements AsyncDisposable {
  /** Negative numbers among the replies of a Redis: commits that it refused because another worker leads. */
  refusedCommits = 0;
  readonly #server: Server;
  readonly #target: number;
  readonly #pairs = new Set<Pair>();
  #network: NetworkMode = "whole";

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    server.on("connection", (client) => this.#join(client));
  }

  /** Listens on a free port. */
  static async before(target: number): Promise<FaultyProxy> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
    return new FaultyProxy(server, target);
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  get network(): NetworkMode {
    return this.#network;
  }

  /** Whether delayed bytes of clients match the pattern. */
  holds(pattern: RegExp): boolean {
    for (const { held } of this.#pairs) if (pattern.test(Buffer.concat(held.toServer).toString("latin1"))) return true;
    return false;
  }

  /** Changes the mode. Delayed bytes that may pass now do so, in order. */
  become(network: NetworkMode): void {
    const before = this.#network;
    this.#network = network;
    for (const pair of this.#pairs) {
      if (network === "refused") end(pair);
      else if (network === "halfOpen") pair.client.destroy();
      else if (before === "halfOpen")
        end(pair); // The server's side ends, too.
      else for (const direction of ["toServer", "toClient"] as const) this.#release(pair, direction);
    }
  }

  #join(client: Socket): void {
    if (this.#network === "refused" || this.#network === "halfOpen") return void client.destroy();
    const server = connect(this.#target, "127.0.0.1");
    const pair: Pair = { client, server, held: { toServer: [], toClient: [] }, heldBytes: 0, begun: "" };
    this.#pairs.add(pair);
    this.#carry(pair, client, server, "toServer");
    this.#carry(pair, server, client, "toClient");
  }

  #carry(pair: Pair, from: Socket, to: Socket, direction: Direction): void {
    from.setNoDelay(true);
    from.on("data", (chunk: Buffer) => {
      if (direction === "toClient") this.#countRefused(pair, chunk);
      const isSlow = this.#network === "slow";
      if (isSlow) setTimeout(() => this.#passFirst(pair, direction), SLOW_MS);
      const waits = isSlow || HELD[direction].has(this.#network) || pair.held[direction].length > 0;
      if (waits) this.#hold(pair, from, direction, chunk);
      else write(from, to, chunk);
    });
    from.on("drain", () => (from === pair.client ? pair.server : pair.client).resume());
    from.on("error", () => from.destroy()); // Broken connections are expected here.
    from.on("close", () => {
      if (this.#network === "halfOpen" && from === pair.client) return;
      if (this.#network === "silent") return; // The other side is closed when the network is whole again.
      to.destroy();
      if (pair.client.destroyed && pair.server.destroyed) this.#pairs.delete(pair);
    });
  }

  /** Replies may be split into chunks at any byte. */
  #countRefused(pair: Pair, chunk: Buffer): void {
    const text = pair.begun + chunk.toString("latin1");
    this.refusedCommits += text.match(REFUSED)?.length ?? 0;
    const lineAt = text.lastIndexOf("\n") + 1;
    pair.begun = text.length - lineAt <= REFUSED_LENGTH_MAX ? text.slice(lineAt) : NO_REFUSAL;
  }

  /** Bytes keep their order in every mode. */
  #passFirst(pair: Pair, direction: Direction): void {
    const chunk = HELD[direction].has(this.#network) ? undefined : pair.held[direction].shift();
    if (chunk === undefined) return;
    const [from, to] = direction === "toServer" ? [pair.client, pair.server] : [pair.server, pair.client];
    pair.heldBytes -= chunk.length;
    if (pair.heldBytes <= HELD_BYTES_MAX) from.resume();
    write(from, to, chunk);
  }

  #hold(pair: Pair, from: Socket, direction: Direction, chunk: Buffer): void {
    pair.held[direction].push(chunk);
    pair.heldBytes += chunk.length;
    if (pair.heldBytes > HELD_BYTES_MAX) from.pause();
  }

  #release(pair: Pair, direction: Direction): void {
    if (HELD[direction].has(this.#network)) return;
    const [from, to] = direction === "toServer" ? [pair.client, pair.server] : [pair.server, pair.client];
    const held = pair.held[direction];
    pair.held[direction] = [];
    for (const chunk of held) {
      pair.heldBytes -= chunk.length;
      write(from, to, chunk);
    }
    if (from.destroyed) to.end();
    else from.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const pair of this.#pairs) end(pair);
    await closed;
  }
}

const REFUSED = /^:-\d+\r\n/gm;
/** Characters of a refusal without the end of its line: an epoch has as many digits as any safe integer. */
const REFUSED_LENGTH_MAX = 20;
/** Replaces the beginning of a line that is too long for a refusal. */
const NO_REFUSAL = "…";

function write(from: Socket, to: Socket, chunk: Buffer): void {
  if (to.destroyed || to.writableEnded) return;
  if (!to.write(chunk)) from.pause();
}

function end({ client, server }: Pair): void {
  client.destroy();
  server.destroy();
}
