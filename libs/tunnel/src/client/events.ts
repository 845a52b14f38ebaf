/** Why: who runs a tunnel wants to see what it does; a command line prints these, a test waits for them. */
import type { TunnelStatus } from "../handshake.js";

export type TunnelClientEvent =
  | { readonly kind: "connecting"; readonly server: string }
  /** Requests come from now on. */
  | {
      readonly kind: "connected";
      readonly server: string;
      readonly connectionId: string;
      readonly name: string;
      /** Prefix of the addresses that official command lines register. */
      readonly proxyUrl: string;
    }
  /** The relay goes away: another connection is opened, this one finishes what it has. */
  | { readonly kind: "draining"; readonly server: string }
  /** A connection ended that had served, or never came about; the next is tried after `retryInMs`. */
  | { readonly kind: "disconnected"; readonly server: string; readonly reason: string; readonly retryInMs: number }
  /** The relay does not want us, and trying again would not help. */
  | { readonly kind: "refused"; readonly status: Exclude<TunnelStatus, "ok"> | "name-changed" }
  | { readonly kind: "resolveFailed"; readonly srv: string; readonly reason: string }
  /** A request was answered by the service behind, or by us when nobody was there. */
  | {
      readonly kind: "request";
      readonly method: string;
      /** `http://127.0.0.1:9080` */
      readonly destination: string;
      /** Without query. */
      readonly path: string;
      /** 0: the other side gave it up. */
      readonly status: number;
      readonly durationMs: number;
    }
  /** A request was not let through: 400, 401 or 403. */
  | { readonly kind: "denied"; readonly status: number; readonly path: string; readonly reason: string };

export type OnTunnelEvent = (event: TunnelClientEvent) => void;
