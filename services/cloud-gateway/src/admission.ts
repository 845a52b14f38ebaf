/**
 * Decides on an authenticated request: permission, rate and size. An admitted request goes to the runtime when its environment has its
 * turn; a request above a limit is refused before it costs other tenants anything.
 */
import type { Clock } from "@perdure/base";
import { type AuthenticatedCaller, mayCaller, type Tenancy } from "@perdure/cloud";
import type { Edge } from "@perdure/telemetry";
import type { Answers } from "./answers.js";
import { type GatewayEnvironment, type GatewayEnvironments, inFlightMaxOf } from "./environments.js";
import { FairQueue } from "./fair-queue.js";
import type { Forwarding, GatewayRequest } from "./gateway-request.js";
import { KeyRates } from "./key-rates.js";
import { BYTES_PER_COST, COST_MAX } from "./limits.js";
import type { GatewayMetrics } from "./metrics.js";
import { ProxiedRequest, type ProxiedRequestPorts } from "./proxied-request.js";
import type { RateSharing } from "./rate-shares.js";
import * as refusal from "./refusal.js";
import { beginSpan } from "./request-span.js";
import type { Upstreams } from "./upstreams.js";
import { Waking } from "./waking.js";

interface AdmissionPorts {
  readonly tenancy: Tenancy;
  readonly environments: GatewayEnvironments;
  readonly clock: Clock;
  readonly answers: Answers;
  readonly upstreams: Upstreams;
  readonly rates: RateSharing;
  readonly metrics: GatewayMetrics | undefined;
  /** Undefined: requests are not traced. */
  readonly edge: Edge | undefined;
  /** Calls back in the next turn of the event loop. */
  readonly nextTurn: (turn: () => void) => void;
}

/** Admitted, and waits for its turn. */
const WAITING: Forwarding = { drained: () => undefined, abandoned: () => undefined };

export class GatewayAdmission {
  readonly #ports: AdmissionPorts;
  readonly #queue: FairQueue<GatewayRequest>;
  readonly #keyRates = new KeyRates();
  readonly #proxiedRequests = new Set<ProxiedRequest>();
  readonly #proxiedRequestPorts: ProxiedRequestPorts;
  readonly #waking: Waking;

  /** `issuer`: the `iss` of access tokens. */
  constructor(ports: AdmissionPorts, issuer: string) {
    this.#ports = ports;
    this.#queue = new FairQueue({ serve: (request) => this.#forward(request), nextTurn: ports.nextTurn });
    this.#proxiedRequestPorts = {
      clock: ports.clock,
      refuse: (request, refused) => ports.answers.refuse(request, refused),
      retried: () => ports.metrics?.retried(),
    };
    const { tenancy, clock, environments, metrics, answers } = ports;
    const refuse = this.#proxiedRequestPorts.refuse;
    const goOn = (request: GatewayRequest, environment: GatewayEnvironment): void =>
      answers.resume(request, () => this.#woken(request, environment));
    this.#waking = new Waking({ tenancy, clock, environments, metrics, refuse, goOn }, issuer);
  }

  /** Admitted requests that wait for their turn. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Admitted requests that wait until their environment has woken up. */
  get heldForWaking(): number {
    return this.#waking.held;
  }

  admit(request: GatewayRequest, environment: GatewayEnvironment, caller: AuthenticatedCaller): void {
    const { endpoint, head } = request;
    const { facts, state } = environment;
    const { answers, clock, rates } = this.#ports;
    const own = state[endpoint];
    if (!mayCaller(caller, { endpoint, method: head.method, path: head.path })) {
      return answers.refuse(request, refusal.notAllowed, own.pace);
    }
    const rate = endpoint === "ingress" ? facts.limits.ingressRate : facts.limits.adminRate;
    const nowMs = clock.monotonicMs();
    const share = rates.requestShare(own.meter, rate.perSecond);
    const keyBucket = this.#keyRates.refusedBy(caller, endpoint, share, nowMs);
    if (keyBucket !== undefined) return answers.refuseRate(request, keyBucket, own.pace);
    own.bucket.change(rate, nowMs);
    own.bucket.divide(share, nowMs);
    if (!own.bucket.take(nowMs)) return answers.refuseRate(request, own.bucket, own.pace);
    if (facts.status === "SUSPENDED" && !(endpoint === "admin" && (head.method === "GET" || head.method === "HEAD"))) {
      return answers.refuse(request, refusal.suspended, own.pace);
    }
    if (head.contentLength !== undefined && head.contentLength > facts.limits.bodyBytesMax) {
      return answers.refuse(request, refusal.bodyTooLarge(facts.limits.bodyBytesMax), own.pace);
    }
    if (state.inFlight >= inFlightMaxOf(facts)) return answers.refuse(request, refusal.tooManyInFlight, own.pace);
    if (facts.upstream === undefined) return answers.refuse(request, refusal.unreachable, own.pace);
    state.inFlight++;
    request.forwarding = WAITING;
    if (facts.sleep !== undefined) return this.#waking.hold(request, environment);
    this.#takeTurn(request, environment);
  }

  /** Called when no more requests arrive. */
  close(): void {
    this.#waking.close();
  }

  /** Checks the facts again: they may have changed since the request arrived. */
  #woken(request: GatewayRequest, { facts, state: latest }: GatewayEnvironment): void {
    const { answers } = this.#ports;
    const { status } = facts;
    const environment = { facts, state: request.environment?.state ?? latest }; // The state in which it was counted on arrival.
    request.forwarding = WAITING;
    request.environment = environment;
    if (status === "DELETING" || status === "DELETED") return answers.refuse(request, refusal.unknownEnvironment);
    if (status === "SUSPENDED") return answers.refuse(request, refusal.suspended);
    this.#takeTurn(request, environment);
  }

  #takeTurn(request: GatewayRequest, { state }: GatewayEnvironment): void {
    const { answers } = this.#ports;
    const { endpoint, head } = request;
    if (this.#queue.enter(state.line, request, costOf(head.contentLength)) === "full") {
      state.inFlight--;
      request.forwarding = undefined;
      answers.refuse(request, refusal.tooManyInFlight, state[endpoint].pace);
    }
  }

  /** Called when an admitted request is over. */
  left({ environment, forwarding }: GatewayRequest): void {
    if (environment === undefined || forwarding === undefined) return;
    environment.state.inFlight--;
    if (forwarding instanceof ProxiedRequest) this.#proxiedRequests.delete(forwarding);
  }

  /** Called every second. */
  sweep(nowMs: number): void {
    for (const proxiedRequest of this.#proxiedRequests) proxiedRequest.sweep(nowMs);
  }

  #forward(request: GatewayRequest): void {
    const { environment, endpoint, exchange } = request;
    if (exchange.over || environment === undefined) return; // The client left before its turn.
    const { facts, state } = environment;
    const origin = facts.upstream?.[endpoint];
    if (origin === undefined) return this.#ports.answers.refuse(request, refusal.unreachable, state[endpoint].pace);
    try {
      const proxiedRequest = new ProxiedRequest(
        this.#proxiedRequestPorts,
        request,
        facts,
        this.#ports.upstreams.of(facts.id, origin),
      );
      if (endpoint === "ingress") state.totals.ingressRequests++;
      else state.totals.adminRequests++;
      request.forwarding = proxiedRequest;
      if (this.#ports.edge !== undefined) beginSpan(request, this.#ports.edge, this.#ports.clock);
      this.#proxiedRequests.add(proxiedRequest);
      proxiedRequest.start();
    } catch (cause) {
      this.#ports.answers.crash(request, cause);
    }
  }
}

/** The cost of a request, in parts of a turn. */
function costOf(contentLength: number | undefined): number {
  return Math.min(COST_MAX, 1 + Math.floor((contentLength ?? 0) / BYTES_PER_COST));
}
