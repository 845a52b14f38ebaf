/**
 * Probes the front of an environment. Pods that are ready are reachable a moment later: each node must be updated before the address of
 * their Service works, and until then connections are refused. So the operator connects as a client would: by the name of the Service, on
 * both ports.
 */
import { connect } from "node:net";
import { FRONT_CONNECT_MS_MAX } from "./limits.js";

/** `unknown`: the name leads nowhere for the operator, which has another DNS than the pods of the cluster. */
type FrontAnswer = "accepted" | "refused" | "unknown";

export interface FrontProber {
  /** Result of a connection attempt; never rejects. */
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
