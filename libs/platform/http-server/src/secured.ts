/** A port with TLS accepts each connection with the certificate that is current then; open connections keep theirs. */
import type { Socket } from "node:net";
import { createServer, type SecureContextOptions, type TLSSocket } from "node:tls";
import { handleErrors, type Logger } from "@perdure/base";
import { afterReading } from "./after-reading.js";
import type { Certificate, CertificateSource } from "./certificates.js";
import { STALLED_FACTOR } from "./limits.js";
import type { Protocol } from "./sniff.js";

type Decided = (connection: Socket, protocol: Protocol) => void;

/** Takes connections that were accepted elsewhere. A handshake that takes longer than `timeoutMs`, or fails, is the end of its connection. */
export function securedBy(
  certificates: CertificateSource,
  logger: Logger,
  timeoutMs: number,
): (socket: Socket, decided: Decided) => void {
  /** By the address and port of the client, the only key that both events of a handshake share. */
  const waiting = new Map<string, Decided>();
  const options = {
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: STALLED_FACTOR * timeoutMs,
    ...contextOf(certificates.current),
  };
  const server = createServer(options, (connection) => {
    handleErrors(connection);
    const peer = peerOf(connection);
    const decided = waiting.get(peer);
    waiting.delete(peer);
    decided?.(connection, connection.alpnProtocol === "h2" ? "h2c" : "http/1.1");
  });
  server.on("tlsClientError", (cause: Error, connection: TLSSocket) => {
    handleErrors(connection);
    logger.debug({ cause: cause.message }, "a TLS handshake failed");
    connection.destroy();
  });
  certificates.onChange((certificate) => server.setSecureContext(contextOf(certificate)));
  return (socket, decided) => {
    const peer = peerOf(socket);
    waiting.set(peer, decided);
    const timeout = setTimeout(() => afterReading(() => waiting.get(peer) === decided && socket.destroy()), timeoutMs);
    socket.once("close", () => {
      clearTimeout(timeout);
      waiting.delete(peer);
    });
    server.emit("connection", socket);
  };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function contextOf({ certificate, privateKey }: Certificate): SecureContextOptions {
  return { cert: certificate, key: privateKey, minVersion: "TLSv1.2" };
}
