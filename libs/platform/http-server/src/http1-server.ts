/**
 * The HTTP/1.1 server of a port. It is also the socket that listens, because Node checks the timeouts of headers and requests, and finds
 * idle connections, only for a server that listens. It holds each new connection back until the first bytes, or ALPN, prove HTTP/1.1.
 *
 * This uses public interfaces of Node only: an overridden `emit` keeps the event `connection` from Node's parser, and the documentation
 * of `node:http` allows users to emit that event for connections from elsewhere. What was tried instead:
 * - A `net.Server` that listens, and an `http.Server` that does not: without `listening` Node has no list of connections, so a later header
 *   section of a connection has no timeout, and `closeIdleConnections` does nothing.
 * - `http2.createSecureServer` with `allowHTTP1`: TLS only, and its requests of HTTP/2 go through the compatibility layer.
 * - The parser's error for the preface of HTTP/2 (`clientError`): by then the parser owns the socket.
 */
import { Server, type ServerOptions } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";

type Emit = (event: string | symbol, ...args: unknown[]) => boolean;

export class Http1Server extends Server {
  readonly #accepted: (socket: Socket) => void;

  /** @param accepted receives each new connection; nothing was read from it */
  constructor(options: ServerOptions, accepted: (socket: Socket) => void) {
    super(options);
    this.#accepted = accepted;
  }

  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event !== "connection") return (super.emit as Emit)(event, ...args);
    this.#accepted(args[0] as Socket);
    return true;
  }

  /** Reads requests from a connection. */
  serve(connection: Duplex): void {
    (super.emit as Emit)("connection", connection);
  }

  /**
   * Accepts no new connections. `close` would also cut idle connections at once, on which the next request may be on its way. Bun, in which
   * `@perdure/testing` runs, has a server of its own that is no `net.Server` and has only `close`.
   */
  stopListening(closed: () => void): void {
    if (!(Server.prototype instanceof NetServer)) return void this.close(() => closed());
    NetServer.prototype.close.call(this, () => closed()); // The only error is that the server does not listen.
  }
}
