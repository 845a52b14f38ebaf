/** A proxy that cuts a connection at any chosen byte, on its way to Redis or back, to test every place where a commit may be cut. */
import { connect as connectTcp, createServer, type Server, type Socket } from "node:net";

/** Bytes still to pass in a direction before the connection is cut. */
interface Cut {
  readonly direction: "toServer" | "toClient";
  left: number;
}

export class CuttingProxy implements AsyncDisposable {
  readonly passed = { toServer: 0, toClient: 0 };
  cutCount = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cuts: Cut[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async before(port: number): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server);
    server.on("connection", (client) => proxy.#join(client, connectTcp(port, "127.0.0.1")));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** The next bytes count; each cut waits for the one before. */
  cut(...cuts: readonly (readonly [direction: Cut["direction"], afterBytes: number])[]): void {
    this.#cuts = cuts.map(([direction, left]) => ({ direction, left }));
  }

  #join(client: Socket, redis: Socket): void {
    const end = (): void => {
      client.destroy();
      redis.destroy();
    };
    for (const socket of [client, redis]) {
      this.#sockets.add(socket);
      socket.on("error", end).on("close", () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    client.on("data", (chunk) => this.#pass(chunk, "toServer", redis, client));
    redis.on("data", (chunk) => this.#pass(chunk, "toClient", client, redis));
  }

  #pass(chunk: Buffer, direction: Cut["direction"], to: Socket, from: Socket): void {
    const [cut] = this.#cuts;
    if (cut === undefined || cut.direction !== direction || chunk.length < cut.left) {
      this.passed[direction] += chunk.length;
      if (cut?.direction === direction) cut.left -= chunk.length;
      to.write(chunk);
      return;
    }
    this.#cuts.shift();
    this.cutCount++;
    from.removeAllListeners("data");
    // What is before the cut arrives, and nothing after it.
    to.end(chunk.subarray(0, cut.left), () => {
      to.destroy();
      from.destroy();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
