/** One request on its way through the gateway, from its first header to its settlement: its environment, caller and counters. */
import type { AuthenticatedCaller } from "@perdure/cloud";
import type { ExchangeObserver, HttpExchange } from "@perdure/http-server";
import type { EdgeOperation } from "@perdure/telemetry";
import type { ClientAddress } from "./addresses.js";
import type { GatewayEndpoint, GatewayEnvironment } from "./environments.js";
import type { GatewayRefusalReason } from "./refusal.js";
import type { RequestHead } from "./request-head.js";

/** Forwards a request; is called about events of the client. */
export interface Forwarding {
  drained(): void;
  /** The client has disconnected. */
  abandoned(): void;
}

export interface RequestOwner {
  /** Answered (`status`), or abandoned by the client before the answer was complete. Exactly once. */
  completed(request: GatewayRequest, outcome: "answered" | "abandoned"): void;
  /** The body is not valid HTTP. */
  unreadable(request: GatewayRequest): void;
}

export class GatewayRequest implements ExchangeObserver {
  readonly #owner: RequestOwner;
  readonly exchange: HttpExchange;
  readonly endpoint: GatewayEndpoint;
  readonly head: RequestHead;
  readonly address: ClientAddress;
  /** Address of the client, or of the browser for which tenancy forwards the request. */
  readonly remoteAddress: string;
  readonly requestId: string;
  /** Time of arrival by the monotonic clock. */
  readonly startedAtMs: number;
  environment: GatewayEnvironment | undefined = undefined;
  caller: AuthenticatedCaller | undefined = undefined;
  foreignAuthorization: string | undefined = undefined;
  /** CORS headers for the answer. */
  cors: readonly string[] | undefined = undefined;
  forwarding: Forwarding | undefined = undefined;
  /** Set once the request is on its way to a runtime; undefined when requests are not traced. */
  span: EdgeOperation | undefined = undefined;
  /** Status of the answer, once it has begun. */
  status = 0;
  /** Why the gateway answered instead of a runtime. */
  reason: GatewayRefusalReason | undefined = undefined;
  /** The gateway or the runtime broke off the answer. */
  isBroken = false;
  bytesIn = 0;
  bytesOut = 0;

  constructor(
    owner: RequestOwner,
    exchange: HttpExchange,
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

  /** Breaks off the answer. */
  abort(): void {
    if (this.exchange.over) return;
    this.isBroken = true;
    this.exchange.abort();
    this.#owner.completed(this, "abandoned");
  }

  /** Closes the connection without an answer. */
  drop(): void {
    if (this.exchange.over) return;
    this.exchange.drop();
    this.#owner.completed(this, "abandoned");
  }
}
