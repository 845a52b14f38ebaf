/** Events of a tunnel client: CLIs print them, tests wait for them. */
import type { TunnelStatus } from "../handshake.js";

export type TunnelClientEvent =
  | { readonly kind: "connecting"; readonly server: string }
  /** The relay accepted the connection and may send requests. */
  | {
      readonly kind: "connected";
      readonly server: string;
      readonly connectionId: string;
      readonly name: string;
      /** Prefix of the addresses that official CLIs register. */
      readonly proxyUrl: string;
    }
  /** The relay is draining: another connection is opened, and this one finishes its requests. */
  | { readonly kind: "draining"; readonly server: string }
  /** A connection that served has ended, or could not be opened; the client retries after `retryInMs`. */
  | { readonly kind: "disconnected"; readonly server: string; readonly reason: string; readonly retryInMs: number }
  /** The relay refused the tunnel, and a retry would not help. */
  | { readonly kind: "refused"; readonly status: Exclude<TunnelStatus, "ok"> | "name-changed" }
  | { readonly kind: "resolveFailed"; readonly srv: string; readonly reason: string }
  /** A request was answered by the local service, or by the client when the service is unavailable. */
  | {
      readonly kind: "request";
      readonly method: string;
      /** `http://127.0.0.1:9080` */
      readonly destination: string;
      /** Path of the request without the query. */
      readonly path: string;
      /** 0: the relay reset the request. */
      readonly status: number;
      readonly durationMs: number;
    }
  /** A request was refused: 400, 401 or 403. */
  | { readonly kind: "denied"; readonly status: number; readonly path: string; readonly reason: string };

export type OnTunnelEvent = (event: TunnelClientEvent) => void;
