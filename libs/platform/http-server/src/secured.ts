/** TLS for connections that were accepted elsewhere: each gets the certificate that is current then; open connections keep theirs. */
import type { Socket } from "node:net";
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from "node:tls";
import { type Clock, handleErrors, type Logger } from "@perdure/base";
import type { Certificate, CertificateSource } from "./certificates.js";
import type { Protocol } from "./first-bytes.js";
import { boundHandshakes, type Handshakes } from "./handshakes.js";
import { STALLED_FACTOR } from "./limits.js";

interface SecuredPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A handshake that takes longer ends its connection. */
  readonly timeoutMs: number;
  /** A handshake is complete; ALPN has selected the protocol. */
  readonly decided: (connection: TLSSocket, protocol: Protocol) => void;
}

export class SecuredConnections {
  readonly #server: Server;
  readonly #handshakes: Handshakes;

  constructor(certificates: CertificateSource, { clock, logger, timeoutMs, decided }: SecuredPorts) {
    this.#server = createServer({ ...tlsOptions(certificates, timeoutMs), ALPNProtocols: ["h2", "http/1.1"] }, (connection) => {
      handleErrors(connection);
      decided(connection, connection.alpnProtocol === "h2" ? "h2c" : "http/1.1");
    });
    this.#handshakes = boundHandshakes(this.#server, clock, timeoutMs);
    renewCertificate(this.#server, certificates, logger);
  }

  /** Begins a handshake. */
  accept(socket: Socket): void {
    this.#server.emit("connection", socket); // As documented for connections from elsewhere.
  }

  /** Ends the connections whose handshake is not complete. */
  cut(): void {
    this.#handshakes.cut();
  }
}

/** Node's own timeout is a last resort: it counts stalls of this process as the client's time. */
export function tlsOptions(certificates: CertificateSource, handshakeTimeoutMs: number) {
  return { handshakeTimeout: STALLED_FACTOR * handshakeTimeoutMs, ...contextOf(certificates.current) };
}

/** Uses a new certificate for new connections, and survives handshakes that fail. */
export function renewCertificate(server: Server, certificates: CertificateSource, logger: Logger): void {
  certificates.onChange((certificate) => server.setSecureContext(contextOf(certificate)));
  server.on("tlsClientError", (cause: Error, connection: TLSSocket) => {
    handleErrors(connection);
    logger.debug({ cause: cause.message }, "a TLS handshake failed");
    connection.destroy();
  });
}

function contextOf({ certificate, privateKey }: Certificate): SecureContextOptions {
  return { cert: certificate, key: privateKey, minVersion: "TLSv1.2" };
}
