/** A gRPC server of one service in the test's process, and channels to it. */

import { Server, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js";
import type { OperationObserver } from "@perdure/base";
import type { Channel } from "../channel.js";
import { type MutualTls, openChannel, SERVER_OPTIONS, serverCredentials } from "../index.js";

export interface TestServerOptions {
  /** Absent: a free port. */
  readonly port?: number;
  readonly tls?: MutualTls | undefined;
}

export class TestServer {
  readonly port: number;
  readonly #server: Server;
  readonly #tls: MutualTls | undefined;
  readonly #channels: Channel[] = [];

  private constructor(server: Server, port: number, tls: MutualTls | undefined) {
    this.#server = server;
    this.port = port;
    this.#tls = tls;
  }

  /** Listens on 127.0.0.1. */
  static async start(
    definition: ServiceDefinition,
    handlers: UntypedServiceImplementation,
    { port = 0, tls }: TestServerOptions = {},
  ): Promise<TestServer> {
    const server = new Server(SERVER_OPTIONS);
    server.addService(definition, handlers);
    const bound = await new Promise<number>((resolve, reject) =>
      server.bindAsync(`127.0.0.1:${port}`, serverCredentials(tls), (error, at) => (error ? reject(error) : resolve(at))),
    );
    return new TestServer(server, bound, tls);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Opens a channel that `stop` closes. */
  connect(observer?: OperationObserver): Channel {
    const channel = openChannel(this.address, this.#tls, observer);
    this.#channels.push(channel);
    return channel;
  }

  /** Closes all channels and connections. */
  stop(): void {
    for (const channel of this.#channels.splice(0)) channel.close();
    this.#server.forceShutdown();
  }
}
