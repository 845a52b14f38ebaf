/**
 * Creates the sockets for ioredis. The client handles one error of a socket, but TLS may emit two (the certificate is refused, then the
 * peer reports the interrupted handshake), and an unhandled error ends the process. The client also leaves a timer behind when it closes a
 * socket that is closed already.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createConnection, type NetConnectOpts, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls, createSecureContext, type SecureContext } from "node:tls";
import { handleErrors } from "@perdure/base";
import { AbstractConnector } from "ioredis";

/** `caFile` as in the driver's options, which the client passes on unchanged. */
export interface SocketTls extends ConnectionOptions {
  readonly caFile?: string;
}

interface ConnectorOptions {
  readonly host?: string;
  readonly port?: number;
  readonly tls?: SocketTls;
}

export class SocketConnector extends AbstractConnector {
  readonly #options: ConnectorOptions;
  #socket: Socket | undefined;
  /** TLS context with the authorities of the file, as of the last time that the file could be used. */
  #context: SecureContext | undefined;

  /** The options of the client: `host`, `port` and `tls`. */
  constructor(options: unknown) {
    super(0);
    this.#options = options as ConnectorOptions;
  }

  override connect(): Promise<Socket> {
    const { host, port, tls } = this.#options;
    this.connecting = true;
    const address = { host, port } as NetConnectOpts;
    const socket = tls === undefined ? createConnection(address) : connectTls({ ...address, ...this.#trusting(tls) });
    // The client reports the first error; later errors add nothing about a closed connection.
    handleErrors(socket, (cause) => {
      this.firstError ??= cause;
    });
    this.#socket = socket;
    return Promise.resolve(socket);
  }

  /**
   * A file that is being replaced may be missing or half written: then the last valid content is used, and the next connection reads it
   * again.
   */
  #trusting({ caFile, ...tls }: SocketTls): ConnectionOptions {
    if (caFile === undefined) return tls;
    try {
      const ca = readFileSync(caFile);
      new X509Certificate(ca); // Throws for an incomplete certificate, which a secure context accepts silently.
      this.#context = createSecureContext({ ...tls, ca });
    } catch {
      // Without any context the system's authorities would be trusted, which the file is there to prevent.
      this.#context ??= createSecureContext({ ...tls, ca: [] });
    }
    return { ...tls, secureContext: this.#context };
  }

  override disconnect(): void {
    this.connecting = false;
    this.#socket?.destroySoon();
  }
}
