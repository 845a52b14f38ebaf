/** Why: one request on its way through the gateway, from its first header to its settlement: what was found out, what was counted. */
import type { AuthenticatedCaller } from "@perdure/cloud";
import type { EdgeOperation } from "@perdure/role";
import type { ClientAddress } from "./addresses.js";
import type { GatewayEndpoint, GatewayEnvironment } from "./environments.js";
import type { AnswerObserver, Exchange } from "./exchange.js";
import type { GatewayRefusalReason } from "./refusal.js";
import type { RequestHead } from "./request-head.js";

/** Whoever forwards a visit; told what the client does. */
export interface Forwarding {
  drained(): void;
  /** The client is gone. */
  abandoned(): void;
}

export interface RequestOwner {
  /** Answered (`status`), or abandoned by the client before the answer was complete. Exactly once. */
  completed(request: GatewayRequest, outcome: "answered" | "abandoned"): void;
  /** Its body is no HTTP any more. */
  unreadable(request: GatewayRequest): void;
}

export class GatewayRequest implements AnswerObserver {
  readonly #owner: RequestOwner;
  readonly exchange: Exchange;
  readonly endpoint: GatewayEndpoint;
  readonly head: RequestHead;
  readonly address: ClientAddress;
  /** Of the client, or of the browser for which tenancy asks. */
  readonly remoteAddress: string;
  readonly requestId: string;
  /** Of the monotonic clock. */
  readonly startedAtMs: number;
  environment: GatewayEnvironment | undefined = undefined;
  caller: AuthenticatedCaller | undefined = undefined;
  foreignAuthorization: string | undefined = undefined;
  /** Headers about other origins for the answer. */
  cors: readonly string[] | undefined = undefined;
  forwarding: Forwarding | undefined = undefined;
  /** Once it is on its way to a runtime; undefined while nobody traces. */
  span: EdgeOperation | undefined = undefined;
  /** Of the answer, once it has begun. */
  status = 0;
  /** Why the gateway itself answered. */
  reason: GatewayRefusalReason | undefined = undefined;
  /** The answer broke off on our side, or on the runtime's. */
  isBroken = false;
  bytesIn = 0;
  bytesOut = 0;

  constructor(
    owner: RequestOwner,
    exchange: Exchange,
    facts: {
      readonly endpoint: GatewayEndpoint;
      readonly head: RequestHead;
      readonly address: ClientAddress;
      readonly remoteAddress: string;
      readonly requestId: string;
      readonly startedAtMs: number;
    },
  ) {
    this.#owner = owner;
    this.exchange = exchange;
    this.endpoint = facts.endpoint;
    this.head = facts.head;
    this.address = facts.address;
    this.remoteAddress = facts.remoteAddress;
    this.requestId = facts.requestId;
    this.startedAtMs = facts.startedAtMs;
    exchange.observer = this;
  }

  drained(): void {
    this.forwarding?.drained();
  }

  gone(): void {
    this.forwarding?.abandoned();
    this.#owner.completed(this, "abandoned");
  }

  finished(): void {
    this.#owner.completed(this, "answered");
  }

  unreadable(): void {
    this.forwarding?.abandoned();
    this.#owner.unreadable(this);
  }

  /** The answer broke off on our side. */
  abort(): void {
    if (this.exchange.over) return;
    this.isBroken = true;
    this.exchange.abort();
    this.#owner.completed(this, "abandoned");
  }

  /** Not worth an answer: the connection goes. */
  drop(): void {
    if (this.exchange.over) return;
    this.exchange.drop();
    this.#owner.completed(this, "abandoned");
  }
}
