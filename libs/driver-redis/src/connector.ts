/**
 * Why: the client listens for one error of a socket, but TLS may report two (the certificate is refused, then the peer complains of the
 * interrupted handshake), and an error nobody listens for ends the process. It also leaves a timer behind when it closes a socket
 * that is closed. Sockets are made here instead.
 */
import { createConnection, type NetConnectOpts, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { handleErrors } from "@perdure/base";
import { AbstractConnector } from "ioredis";

interface ConnectorOptions {
  readonly host?: string;
  readonly port?: number;
  readonly tls?: ConnectionOptions;
}

export class SocketConnector extends AbstractConnector {
  readonly #options: ConnectorOptions;
  #socket: Socket | undefined;

  /** What the client was given: `host`, `port` and `tls`. */
  constructor(options: unknown) {
    super(0);
    this.#options = options as ConnectorOptions;
  }

  override connect(): Promise<Socket> {
    const { host, port, tls } = this.#options;
    this.connecting = true;
    const address = { host, port } as NetConnectOpts;
    const socket = tls === undefined ? createConnection(address) : connectTls({ ...address, ...tls });
    // The first error is the client's to report; those after it say nothing new about a connection that is over.
    handleErrors(socket, (cause) => {
      this.firstError ??= cause;
    });
    this.#socket = socket;
    return Promise.resolve(socket);
  }

  override disconnect(): void {
    this.connecting = false;
    this.#socket?.destroySoon();
  }
}
