/** Opens the connection to a relay, with TLS for the relay's name. */
import { type Socket, connect as tcpConnect } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { type Clock, handleErrors } from "@perdure/base";
import { HANDSHAKE_MS } from "../limits.js";
import type { RelayServer } from "./servers.js";

/** Rejects with an Error that has the reason; an aborted signal rejects at once. */
export function dial(server: RelayServer, ca: string | undefined, clock: Clock, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { host, port, serverName } = server;
    const socket =
      serverName === undefined
        ? tcpConnect({ host, port, noDelay: true })
        : tlsConnect({ host, port, servername: serverName, ALPNProtocols: ["h2"], ...(ca === undefined ? {} : { ca }) });
    handleErrors(socket, (cause) => failed(cause)); // After the first call the promise is settled and later errors change nothing.
    const failed = (cause: Error): void => {
      if (isFinished) return;
      finish();
      socket.destroy();
      reject(cause);
    };
    const aborted = (): void => failed(new Error("the tunnel closes"));
    const timer = clock.setTimer(HANDSHAKE_MS, () => failed(new Error(`no connection within ${HANDSHAKE_MS / 1000} s`)));
    let isFinished = false;
    const finish = (): void => {
      isFinished = true;
      timer.cancel();
      signal.removeEventListener("abort", aborted);
    };
    signal.addEventListener("abort", aborted);
    socket.once(serverName === undefined ? "connect" : "secureConnect", () => {
      if (serverName !== undefined && "alpnProtocol" in socket && socket.alpnProtocol !== "h2") {
        return failed(new Error("the server does not offer HTTP/2"));
      }
      finish();
      socket.setNoDelay(true);
      resolve(socket);
    });
    if (signal.aborted) aborted();
  });
}
