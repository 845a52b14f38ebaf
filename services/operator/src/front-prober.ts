/**
 * Why: pods that are ready are reached a moment later: each node must learn of them before the address of their Service leads anywhere, and until then
 * a connection is refused. So whether an environment is routable is tried as a client would: by the name of the Service, at both ports.
 */
import { connect } from "node:net";
import { FRONT_CONNECT_MS_MAX } from "./limits.js";

/** `unknown`: the name leads nowhere for the operator, which has another DNS than the pods of the cluster. */
export type FrontAnswer = "accepted" | "refused" | "unknown";

export interface FrontProber {
  /** What becomes of a connection; never rejects. */
  connect(host: string, port: number, signal: AbortSignal): Promise<FrontAnswer>;
}

export const tcpFrontProber: FrontProber = {
  connect: (host, port, signal) =>
    new Promise((resolve) => {
      let isResolved = false;
      const socket = connect({ host, port, signal, timeout: FRONT_CONNECT_MS_MAX });
      socket.on("error", () => end(isResolved ? "refused" : "unknown"));
      const end = (answer: FrontAnswer): void => {
        resolve(answer);
        socket.destroy();
      };
      socket.on("lookup", (error) => {
        isResolved = error === null;
      });
      socket.once("timeout", () => end(isResolved ? "refused" : "unknown"));
      socket.once("connect", () => end("accepted"));
    }),
};
