/** A server of one service in the test's process, reached over gRPC or over message ports, and channels to it. */
import { MessageChannel } from "node:worker_threads";
import { Server, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { type OperationObserver, silentLogger } from "@perdure/base";
import type { Channel } from "../channel.js";
import {
  type MutualTls,
  openChannel,
  openPortChannel,
  type PeerCredentials,
  type PortServer,
  SERVER_OPTIONS,
  servePort,
  serverCredentials,
} from "../index.js";

export const CARRIERS = ["gRPC", "message ports"] as const;
export type Carrier = (typeof CARRIERS)[number];

export interface TestServerOptions {
  /** Absent: a free port. */
  readonly port?: number;
  readonly tls?: MutualTls | undefined;
  /** gRPC by default. */
  readonly carrier?: Carrier | undefined;
}

/** What a started server is: a listener, or ports to the channels that were opened. */
interface RunningServer {
  readonly address: string;
  stop(): void;
}

const PORT_ADDRESS = /^thread:/;
/** Creates a port to the server at the address. */
const portServers = new Map<string, () => Channel>();
let portServerCount = 0;

/** Opens a channel to an address of a `TestServer`, or to any other. The server need not run (any more). */
export function connectTo(address: string, peers?: PeerCredentials, observer?: OperationObserver): Channel {
  if (!PORT_ADDRESS.test(address)) return openChannel(address, peers, observer);
  const connect = portServers.get(address);
  if (connect !== undefined) return connect();
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return openPortChannel(port1);
}

function startOverPorts(definition: ServiceDefinition, handlers: UntypedServiceImplementation): RunningServer {
  const address = `thread:${++portServerCount}`;
  const servers: PortServer[] = [];
  portServers.set(address, () => {
    const { port1, port2 } = new MessageChannel();
    const server = servePort(port1, silentLogger);
    server.serve(definition, handlers);
    servers.push(server);
    return openPortChannel(port2);
  });
  return {
    address,
    stop() {
      portServers.delete(address);
      for (const server of servers.splice(0)) server.close();
    },
  };
}

async function startOverGrpc(
  definition: ServiceDefinition,
  handlers: UntypedServiceImplementation,
  { port = 0, tls }: TestServerOptions,
): Promise<RunningServer> {
  const server = new Server(SERVER_OPTIONS);
  server.addService(definition, handlers);
  const bound = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${port}`, serverCredentials(tls), (error, at) => (error ? reject(error) : resolve(at))),
  );
  return { address: `127.0.0.1:${bound}`, stop: () => server.forceShutdown() };
}

export class TestServer {
  readonly #server: RunningServer;
  readonly #tls: MutualTls | undefined;
  readonly #channels: Channel[] = [];

  private constructor(server: RunningServer, tls: MutualTls | undefined) {
    this.#server = server;
    this.#tls = tls;
  }

  /** Over gRPC it listens on 127.0.0.1. */
  static async start(
    definition: ServiceDefinition,
    handlers: UntypedServiceImplementation,
    options: TestServerOptions = {},
  ): Promise<TestServer> {
    const overPorts = options.carrier === "message ports";
    const server = overPorts ? startOverPorts(definition, handlers) : await startOverGrpc(definition, handlers, options);
    return new TestServer(server, options.tls);
  }

  get address(): string {
    return this.#server.address;
  }

  /** The port that gRPC listens on. */
  get port(): number {
    return Number(this.address.slice(this.address.indexOf(":") + 1));
  }

  /** Opens a channel that `stop` closes. */
  connect(observer?: OperationObserver): Channel {
    const channel = connectTo(this.address, this.#tls, observer);
    this.#channels.push(channel);
    return channel;
  }

  /** Closes all channels and connections. */
  stop(): void {
    for (const channel of this.#channels.splice(0)) channel.close();
    this.#server.stop();
  }
}
