/** Why: one request on its way through the gateway, from its first header to its settlement: what was found out, what was counted. */
import type { Caller } from "@perdure/cloud";
import type { EdgeOperation } from "@perdure/role";
import type { Address } from "./addresses.js";
import type { Environment, GatewayDoor } from "./environments.js";
import type { AnswerObserver, Exchange } from "./exchange.js";
import type { RefusalReason } from "./refusal.js";
import type { RequestHead } from "./request-head.js";

/** Whoever forwards a visit; told what the client does. */
export interface Forwarding {
  drained(): void;
  /** The client is gone. */
  abandoned(): void;
}

export interface VisitOwner {
  /** Answered (`status`), or abandoned by the client before the answer was complete. Exactly once. */
  settled(visit: Visit, outcome: "answered" | "abandoned"): void;
  /** Its body is no HTTP any more. */
  unreadable(visit: Visit): void;
}

export class Visit implements AnswerObserver {
  readonly #owner: VisitOwner;
  readonly exchange: Exchange;
  readonly door: GatewayDoor;
  readonly head: RequestHead;
  readonly address: Address;
  /** Of the client, or of the browser for which tenancy asks. */
  readonly remoteAddress: string;
  readonly requestId: string;
  /** Of the monotonic clock. */
  readonly startedAtMs: number;
  environment: Environment | undefined = undefined;
  caller: Caller | undefined = undefined;
  foreignAuthorization: string | undefined = undefined;
  /** Headers about other origins for the answer. */
  cors: readonly string[] | undefined = undefined;
  forwarding: Forwarding | undefined = undefined;
  /** Once it is on its way to a runtime; undefined while nobody traces. */
  span: EdgeOperation | undefined = undefined;
  /** Of the answer, once it has begun. */
  status = 0;
  /** Why the gateway itself answered. */
  reason: RefusalReason | undefined = undefined;
  /** The answer broke off on our side, or on the runtime's. */
  isBroken = false;
  bytesIn = 0;
  bytesOut = 0;

  constructor(
    owner: VisitOwner,
    exchange: Exchange,
    facts: {
      readonly door: GatewayDoor;
      readonly head: RequestHead;
      readonly address: Address;
      readonly remoteAddress: string;
      readonly requestId: string;
      readonly startedAtMs: number;
    },
  ) {
    this.#owner = owner;
    this.exchange = exchange;
    this.door = facts.door;
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
    this.#owner.settled(this, "abandoned");
  }

  finished(): void {
    this.#owner.settled(this, "answered");
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
    this.#owner.settled(this, "abandoned");
  }

  /** Not worth an answer: the connection goes. */
  drop(): void {
    if (this.exchange.over) return;
    this.exchange.drop();
    this.#owner.settled(this, "abandoned");
  }
}
