/**
 * Why: who is known by now: may they do this, now, in this size? What may goes to the runtime when it is its environment's turn; what
 * is too much is refused before it costs anybody else.
 */
import type { Clock } from "@perdure/base";
import { type Caller, mayCaller, type Tenancy } from "@perdure/cloud";
import type { Edge } from "@perdure/role";
import type { Answers } from "./answers.js";
import { type Environment, type Environments, inFlightMaxOf } from "./environments.js";
import { FairQueue } from "./fair-queue.js";
import { KeyRates } from "./key-rates.js";
import { BYTES_PER_COST, COST_MAX } from "./limits.js";
import type { GatewayMetrics } from "./metrics.js";
import { Passage, type PassagePorts } from "./passage.js";
import type { RateSharing } from "./rate-shares.js";
import * as refusal from "./refusal.js";
import { beginSpan } from "./request-span.js";
import type { Upstreams } from "./upstreams.js";
import type { Forwarding, Visit } from "./visit.js";
import { Waking } from "./waking.js";

export interface AdmissionPorts {
  readonly tenancy: Tenancy;
  readonly environments: Environments;
  readonly clock: Clock;
  readonly answers: Answers;
  readonly upstreams: Upstreams;
  readonly rates: RateSharing;
  readonly metrics: GatewayMetrics | undefined;
  /** Undefined: nobody traces. */
  readonly edge: Edge | undefined;
  /** Calls back in the next turn of the event loop. */
  readonly nextTurn: (turn: () => void) => void;
}

/** It has room and waits for its turn. */
const WAITING: Forwarding = { drained: () => undefined, abandoned: () => undefined };

export class Admission {
  readonly #ports: AdmissionPorts;
  readonly #queue: FairQueue<Visit>;
  readonly #keyRates = new KeyRates();
  readonly #passages = new Set<Passage>();
  readonly #passagePorts: PassagePorts;
  readonly #waking: Waking;

  /** `issuer`: the `iss` of access tokens. */
  constructor(ports: AdmissionPorts, issuer: string) {
    this.#ports = ports;
    this.#queue = new FairQueue({ serve: (visit) => this.#forward(visit), nextTurn: ports.nextTurn });
    this.#passagePorts = {
      clock: ports.clock,
      refuse: (visit, refused) => ports.answers.refuse(visit, refused),
      retried: () => ports.metrics?.retried(),
    };
    const { tenancy, clock, environments, metrics, answers } = ports;
    const refuse = this.#passagePorts.refuse;
    const goOn = (visit: Visit, environment: Environment): void => answers.resume(visit, () => this.#woken(visit, environment));
    this.#waking = new Waking({ tenancy, clock, environments, metrics, refuse, goOn }, issuer);
  }

  /** Admitted requests that wait for their turn. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Admitted requests whose environment is being woken. */
  get heldForWaking(): number {
    return this.#waking.held;
  }

  admit(visit: Visit, environment: Environment, caller: Caller): void {
    const { door, head } = visit;
    const { facts, state } = environment;
    const { answers, clock, rates } = this.#ports;
    const own = state[door];
    if (!mayCaller(caller, { door, method: head.method, path: head.path })) {
      return answers.refuse(visit, refusal.notAllowed, own.pace);
    }
    const rate = door === "ingress" ? facts.limits.ingressRate : facts.limits.adminRate;
    const nowMs = clock.monotonicMs();
    const share = rates.ask(own.meter, rate.perSecond);
    const keyBucket = this.#keyRates.refusedBy(caller, door, share, nowMs);
    if (keyBucket !== undefined) return answers.refuseRate(visit, keyBucket, own.pace);
    own.bucket.change(rate.perSecond, rate.burst, nowMs);
    own.bucket.divide(share, nowMs);
    if (!own.bucket.take(nowMs)) return answers.refuseRate(visit, own.bucket, own.pace);
    if (facts.status === "SUSPENDED" && !(door === "admin" && (head.method === "GET" || head.method === "HEAD"))) {
      return answers.refuse(visit, refusal.suspended, own.pace);
    }
    if (head.contentLength !== undefined && head.contentLength > facts.limits.bodyBytesMax) {
      return answers.refuse(visit, refusal.bodyTooLarge(facts.limits.bodyBytesMax), own.pace);
    }
    if (state.inFlight >= inFlightMaxOf(facts)) return answers.refuse(visit, refusal.tooManyInFlight, own.pace);
    if (facts.upstream === undefined) return answers.refuse(visit, refusal.unreachable, own.pace);
    state.inFlight++;
    visit.forwarding = WAITING;
    if (facts.sleep !== undefined) return this.#waking.hold(visit, environment);
    this.#takeTurn(visit, environment);
  }

  /** Called when nobody comes any more. */
  close(): void {
    this.#waking.close();
  }

  /** What was true when it came may be so no more. */
  #woken(visit: Visit, { facts, state: latest }: Environment): void {
    const { answers } = this.#ports;
    const { status } = facts;
    const environment = { facts, state: visit.environment?.state ?? latest }; // Where it was counted when it came.
    visit.forwarding = WAITING;
    visit.environment = environment;
    if (status === "DELETING" || status === "DELETED") return answers.refuse(visit, refusal.unknownEnvironment);
    if (status === "SUSPENDED") return answers.refuse(visit, refusal.suspended);
    this.#takeTurn(visit, environment);
  }

  #takeTurn(visit: Visit, { state }: Environment): void {
    const { answers } = this.#ports;
    const { door, head } = visit;
    if (this.#queue.enter(state.line, visit, costOf(head.contentLength)) === "full") {
      state.inFlight--;
      visit.forwarding = undefined;
      answers.refuse(visit, refusal.tooManyInFlight, state[door].pace);
    }
  }

  /** A visit that was admitted is over. */
  left({ environment, forwarding }: Visit): void {
    if (environment === undefined || forwarding === undefined) return;
    environment.state.inFlight--;
    if (forwarding instanceof Passage) this.#passages.delete(forwarding);
  }

  /** Called every second. */
  sweep(nowMs: number): void {
    for (const passage of this.#passages) passage.sweep(nowMs);
  }

  #forward(visit: Visit): void {
    const { environment, door, exchange } = visit;
    if (exchange.over || environment === undefined) return; // The client has not waited for its turn.
    const { facts, state } = environment;
    const origin = facts.upstream?.[door];
    if (origin === undefined) return this.#ports.answers.refuse(visit, refusal.unreachable, state[door].pace);
    try {
      const passage = new Passage(this.#passagePorts, visit, facts, this.#ports.upstreams.of(facts.id, origin));
      if (door === "ingress") state.totals.ingressRequests++;
      else state.totals.adminRequests++;
      visit.forwarding = passage;
      if (this.#ports.edge !== undefined) beginSpan(visit, this.#ports.edge, this.#ports.clock);
      this.#passages.add(passage);
      passage.start();
    } catch (cause) {
      this.#ports.answers.crash(visit, cause);
    }
  }
}

/** Of the room in a turn. */
function costOf(contentLength: number | undefined): number {
  return Math.min(COST_MAX, 1 + Math.floor((contentLength ?? 0) / BYTES_PER_COST));
}
