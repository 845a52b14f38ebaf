/**
 * Turns a socket into a tunnel or refuses it, within five seconds. The bytes are those that official clients expect: the request for
 * credentials is the first stream, and its trailers carry the status, sent only after the client's headers were read (cloud.md §2.3).
 */
import { type ClientHttp2Session, connect } from "node:http2";
import type { Duplex } from "node:stream";
import { boundHalfClose, type Clock, handleErrors, type Logger } from "@perdure/base";
import type { TunnelEvent } from "@perdure/cloud";
import { parseHello, START_TUNNEL_PATH, type TunnelHello, type TunnelWelcome, welcomeTrailers } from "@perdure/tunnel";
import {
  CONNECTION_WINDOW_BYTES,
  HANDSHAKE_MS,
  HEADER_BYTES_MAX,
  HELLO_BYTES_MAX,
  LINGER_MS,
  REFUSED_LINGER_MS,
  SESSION_MEMORY_MEGABYTES,
  STREAM_WINDOW_BYTES,
} from "./limits.js";

/** The outcome of a handshake. `later`: tenancy could not be reached, and a refusal would be final for the client. */
export type HandshakeDecision<T> =
  | { readonly kind: "welcome"; readonly welcome: TunnelWelcome & { readonly status: "ok" }; readonly facts: T }
  /** `about`: facts for the audit log of the environment; undefined when the environment does not exist. */
  | { readonly kind: "refused"; readonly welcome: TunnelWelcome; readonly about?: RefusedTunnel | undefined }
  | { readonly kind: "later" };

type RefusedTunnel = Pick<TunnelEvent, "environmentId" | "name" | "caller" | "reason">;

interface HandshakePorts<T> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** `undefined`: the client's answer was not valid. Must not reject. */
  readonly decide: (hello: TunnelHello | undefined) => Promise<HandshakeDecision<T>>;
}

interface Greeted<T> {
  readonly session: ClientHttp2Session;
  readonly facts: T;
}

/** Resolves with undefined when the handshake failed; the socket is then closed or closes within `REFUSED_LINGER_MS`. Never rejects. */
export function greet<T>(socket: Duplex, { clock, logger, decide }: HandshakePorts<T>): Promise<Greeted<T> | undefined> {
  return new Promise((resolve) => {
    let isOver = false;
    const end = (greeted: Greeted<T> | undefined): void => {
      if (isOver) return;
      isOver = true;
      deadline.cancel();
      resolve(greeted);
    };
    const giveUp = (reason: string): void => {
      if (!isOver) logger.debug({ reason }, "a handshake failed");
      session.destroy();
      socket.destroy();
      end(undefined);
    };
    handleErrors(socket, (cause) => giveUp(cause.message));
    boundHalfClose(socket, clock, LINGER_MS);
    let deadline = clock.setTimer(HANDSHAKE_MS, () => giveUp("timeout"));
    const session = connect("http://tunnel-client", {
      createConnection: () => socket,
      maxSessionMemory: SESSION_MEMORY_MEGABYTES,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES, maxHeaderListSize: HEADER_BYTES_MAX },
    });
    handleErrors(session, (cause) => giveUp(cause.message));
    session.once("connect", () => {
      if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
    session.on("close", () => giveUp("the client closed the connection"));

    const stream = session.request(
      { ":method": "GET", ":scheme": "http", ":authority": "tunnel-client", ":path": START_TUNNEL_PATH },
      { endStream: false, waitForTrailers: true },
    );
    handleErrors(stream, (cause) => giveUp(cause.message));
    let decision: HandshakeDecision<T> | undefined;
    let canSendTrailers = false;
    const finish = (): void => {
      if (decision === undefined || decision.kind === "later" || !canSendTrailers) return;
      if (stream.destroyed || stream.closed) return;
      stream.sendTrailers(welcomeTrailers(decision.welcome));
    };
    stream.on("wantTrailers", () => {
      canSendTrailers = true;
      finish();
    });
    stream.on("response", (headers) => {
      if (sizeOf(headers) > HELLO_BYTES_MAX) return giveUp("its headers are too large");
      void decide(headers[":status"] === 200 ? parseHello(headers as Record<string, string>) : undefined).then((result) => {
        if (isOver) return;
        if (result.kind === "later") return giveUp("tenancy cannot be reached");
        decision = result;
        finish();
      });
    });
    stream.on("close", () => {
      if (decision?.kind === "welcome" && !session.destroyed) return end({ session, facts: decision.facts });
      if (decision?.kind !== "refused") return giveUp("the client ended the handshake");
      // Clients close by themselves once they have read the status. Closing the connection first would hide the status from some of them.
      deadline.cancel();
      deadline = clock.setTimer(REFUSED_LINGER_MS, () => giveUp("it was refused"));
    });
    stream.end();
    stream.resume();
  });
}

function sizeOf(headers: Readonly<Record<string, unknown>>): number {
  let size = 0;
  for (const name in headers) size += name.length + String(headers[name]).length;
  return size;
}
