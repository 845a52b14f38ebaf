/** Checks whether a service listens: one that is not up yet cannot be registered. A connection is enough, at no cost for the service. */
import { connect } from "node:net";
import { handleErrors } from "@perdure/base";
import { CONNECT_MS_MAX } from "../../limits.js";

/** Whether a program accepts connections there. */
export function isListening(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS_MAX });
    handleErrors(socket, () => end(false));
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
  });
}
