/**
 * What the gateway answers instead of a runtime: refusals, at a pace that keeps a flood of them from slowing other tenants down, and
 * what is public.
 */
import { type Clock, type Logger, PerdureError, type TokenBucket } from "@perdure/base";
import { adminPreflight, ingressPreflight, isPreflight } from "./cors.js";
import type { GatewayEnvironment } from "./environments.js";
import { answerOwn, answerRefusal } from "./gateway-answer.js";
import type { GatewayRequest } from "./gateway-request.js";
import { SWEEP_MS } from "./limits.js";
import { Pacer, type RefusalPace } from "./pace.js";
import type { PublicAnswer, PublicAnswers } from "./public-answers.js";
import * as refusal from "./refusal.js";
import { specialOf } from "./route.js";

interface AnswersPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publicAnswers: PublicAnswers;
}

export class Answers {
  readonly #ports: AnswersPorts;
  readonly #consoleUrl: string | undefined;
  readonly #pacer: Pacer;
  /** Origin of the console's pages, which may call the management API. */
  readonly consoleOrigin: string | undefined;
  #awayLoggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(ports: AnswersPorts, consoleUrl: string | undefined) {
    this.#ports = ports;
    this.#consoleUrl = consoleUrl;
    this.#pacer = new Pacer(ports.clock);
    this.consoleOrigin = consoleUrl === undefined ? undefined : new URL(consoleUrl).origin;
  }

  /** Refusals that wait before they are answered. */
  get held(): number {
    return this.#pacer.waiting;
  }

  /** Answers all refusals that wait. */
  close(): void {
    this.#pacer.close();
  }

  // ── refusals ───────────────────────────────────────────────────────────────────────────────────

  /**
   * `pace`: the pace that the refusal counts against; by default that of the authenticated caller's environment, else that of the address.
   */
  refuse(request: GatewayRequest, refused: refusal.GatewayRefusal, pace?: RefusalPace): void {
    const { environment, caller, endpoint } = request;
    const bucket = refused.status === 429 && caller !== undefined ? environment?.state[endpoint].bucket : undefined;
    this.#refuse(request, refused, pace, bucket);
  }

  /** `bucket`: the one that is empty. */
  refuseRate(request: GatewayRequest, bucket: TokenBucket, pace: RefusalPace): void {
    this.#refuse(request, refusal.tooManyRequests(bucket.retryAfterSeconds()), pace, bucket);
  }

  #refuse(
    request: GatewayRequest,
    refused: refusal.GatewayRefusal,
    pace: RefusalPace | undefined,
    bucket: TokenBucket | undefined,
  ): void {
    if (request.exchange.over) return;
    request.reason = refused.reason;
    const { environment, caller, address, endpoint } = request;
    const own = pace ?? (caller === undefined || environment === undefined ? address.pace : environment.state[endpoint].pace);
    const rate =
      bucket === undefined
        ? undefined
        : { limit: Math.floor(bucket.burst), remaining: bucket.remaining, resetSeconds: bucket.secondsToFull };
    const pacing = this.#pacer.pace(own, () => answerRefusal(request, refused, rate));
    if (pacing === "now") answerRefusal(request, refused, rate);
    else if (pacing === "drop") request.drop();
  }

  /** Wrong or missing credentials: an address gets a limited number of answers 401, then only 429. */
  refuseUnauthenticated(request: GatewayRequest, refused: refusal.GatewayRefusal): void {
    if (!request.address.unauthorized.take(this.#ports.clock.monotonicMs())) return this.refuseAddress(request);
    this.refuse(request, refused);
  }

  refuseAddress(request: GatewayRequest): void {
    this.refuse(request, refusal.tooManyFailures(request.address.unauthorized.retryAfterSeconds()));
  }

  tenancyFailed(request: GatewayRequest, cause: unknown): void {
    const error = PerdureError.from(cause);
    const nowMs = this.#ports.clock.monotonicMs();
    if (nowMs - this.#awayLoggedAtMs >= SWEEP_MS) {
      this.#awayLoggedAtMs = nowMs;
      this.#ports.logger.warn({ code: error.code, cause: error }, "tenancy did not answer; requests are refused");
    }
    this.refuse(request, refusal.tenancyAway);
  }

  /** Calls `goOn` after a look-up, unless the client has left meanwhile. */
  resume(request: GatewayRequest, goOn: () => void): void {
    if (request.exchange.over) return;
    try {
      goOn();
    } catch (cause) {
      this.crash(request, cause);
    }
  }

  crash(request: GatewayRequest, cause: unknown): void {
    this.#ports.logger.error({ cause, requestId: request.requestId }, "request handling failed");
    if (request.exchange.headersSent) request.abort();
    else this.refuse(request, refusal.internalError);
  }

  // ── public ─────────────────────────────────────────────────────────────────────────────────────

  /** Preflights, `/version`, `/ui`, health. True when it is answered, now or later. */
  answersPublic(request: GatewayRequest, { facts }: GatewayEnvironment): boolean {
    const { endpoint, head, address } = request;
    const special = specialOf(endpoint, head.path);
    const preflight = isPreflight(head);
    if (special === "none" && !preflight) return false;
    if (special === "internal") {
      this.refuse(request, refusal.notFound);
      return true;
    }
    const reads = head.method === "GET" || head.method === "HEAD";
    if (special === "health" && (head.hasAuthorization || !reads) && !preflight) return false;
    if (special === "version" && !reads && !preflight) return false;
    const { publicAnswers, clock } = this.#ports;
    if (!address.anonymous.take(clock.monotonicMs())) {
      this.refuse(request, refusal.tooManyFailures(address.anonymous.retryAfterSeconds()), address.pace);
    } else if (preflight) this.#answerPreflight(request);
    else if (special === "ui") this.#showConsole(request);
    else if (facts.sleep !== undefined) this.refuse(request, refusal.asleep);
    else
      this.#answerPublic(request, special === "version" ? () => publicAnswers.version(facts) : () => publicAnswers.health(facts));
    return true;
  }

  #answerPreflight(request: GatewayRequest): void {
    if (request.endpoint === "ingress") return answerOwn(request, 204, ingressPreflight(request.head), "");
    if (request.head.origin !== this.consoleOrigin) return this.refuse(request, refusal.forbiddenOrigin);
    answerOwn(request, 204, [...adminPreflight], "");
  }

  #showConsole(request: GatewayRequest): void {
    if (this.#consoleUrl === undefined) return this.refuse(request, refusal.notFound);
    answerOwn(request, 307, ["location", this.#consoleUrl], "");
  }

  #answerPublic(request: GatewayRequest, load: () => PublicAnswer | Promise<PublicAnswer>): void {
    const send = (answer: PublicAnswer): void => {
      if (answer.kind === "unavailable") return this.refuse(request, refusal.unreachable);
      answerOwn(request, 200, ["content-type", "application/json"], request.head.method === "HEAD" ? "" : answer.body);
    };
    const answer = load();
    if (!(answer instanceof Promise)) return send(answer);
    answer.then(
      (result) => this.resume(request, () => send(result)),
      () => this.resume(request, () => this.refuse(request, refusal.unreachable)),
    );
  }
}
