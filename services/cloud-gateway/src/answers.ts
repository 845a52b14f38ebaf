/**
 * Why: what the gateway answers instead of a runtime: refusals, at a pace that keeps a flood of them from being everybody's cost, and
 * what anybody may know without a credential.
 */
import { type Clock, type Logger, PerdureError } from "@perdure/base";
import { adminPreflight, ingressPreflight, isPreflight } from "./cors.js";
import type { Environment } from "./environments.js";
import { SWEEP_MS } from "./limits.js";
import { type Pace, Pacer } from "./pace.js";
import type { PublicAnswer, PublicAnswers } from "./public-answers.js";
import * as refusal from "./refusal.js";
import { specialOf } from "./route.js";
import { answerOwn, answerRefusal } from "./tell.js";
import type { TokenBucket } from "./token-bucket.js";
import type { Visit } from "./visit.js";

export interface AnswersPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publicAnswers: PublicAnswers;
}

export class Answers {
  readonly #ports: AnswersPorts;
  readonly #consoleUrl: string | undefined;
  readonly #pacer: Pacer;
  /** Of the console's pages, which may call the management API. */
  readonly consoleOrigin: string | undefined;
  #awayToldAtMs = Number.NEGATIVE_INFINITY;

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

  /** Answers whatever waits. */
  close(): void {
    this.#pacer.close();
  }

  // ── refusals ───────────────────────────────────────────────────────────────────────────────────

  /** `pace`: whose turn a flood of this would be; by default the known caller's environment, else the address. */
  refuse(visit: Visit, refused: refusal.Refusal, pace?: Pace): void {
    const { environment, caller, door } = visit;
    const bucket = refused.status === 429 && caller !== undefined ? environment?.state[door].bucket : undefined;
    this.#refuse(visit, refused, pace, bucket);
  }

  /** `bucket`: whichever has nothing left. */
  refuseRate(visit: Visit, bucket: TokenBucket, pace: Pace): void {
    this.#refuse(visit, refusal.tooManyRequests(bucket.secondsToNext), pace, bucket);
  }

  #refuse(visit: Visit, refused: refusal.Refusal, pace: Pace | undefined, bucket: TokenBucket | undefined): void {
    if (visit.exchange.over) return;
    visit.reason = refused.reason;
    const { environment, caller, address, door } = visit;
    const own = pace ?? (caller === undefined || environment === undefined ? address.pace : environment.state[door].pace);
    const rate =
      bucket === undefined
        ? undefined
        : { limit: Math.floor(bucket.burst), remaining: bucket.remaining, resetSeconds: bucket.secondsToFull };
    const pacing = this.#pacer.pace(own, () => answerRefusal(visit, refused, rate));
    if (pacing === "now") answerRefusal(visit, refused, rate);
    else if (pacing === "drop") visit.drop();
  }

  /** Wrong or missing credentials: an address gets so many answers 401, then it is not listened to. */
  refuseStranger(visit: Visit, refused: refusal.Refusal): void {
    if (!visit.address.unauthorized.take(this.#ports.clock.monotonicMs())) return this.refuseAddress(visit);
    this.refuse(visit, refused);
  }

  refuseAddress(visit: Visit): void {
    this.refuse(visit, refusal.tooManyFailures(visit.address.unauthorized.secondsToNext));
  }

  tenancyFailed(visit: Visit, cause: unknown): void {
    const error = PerdureError.from(cause);
    const nowMs = this.#ports.clock.monotonicMs();
    if (nowMs - this.#awayToldAtMs >= SWEEP_MS) {
      this.#awayToldAtMs = nowMs;
      this.#ports.logger.warn({ code: error.code, cause: error }, "tenancy did not answer; requests are refused");
    }
    this.refuse(visit, refusal.tenancyAway);
  }

  /** Goes on after a look-up, unless the client has left meanwhile. */
  resume(visit: Visit, goOn: () => void): void {
    if (visit.exchange.over) return;
    try {
      goOn();
    } catch (cause) {
      this.crash(visit, cause);
    }
  }

  crash(visit: Visit, cause: unknown): void {
    this.#ports.logger.error({ cause, requestId: visit.requestId }, "request handling failed");
    if (visit.exchange.headersSent) visit.abort();
    else this.refuse(visit, refusal.internalError);
  }

  // ── for anybody ────────────────────────────────────────────────────────────────────────────────

  /** Preflights, `/version`, `/ui`, health. True when it is answered, now or later. */
  answersAnybody(visit: Visit, { facts }: Environment): boolean {
    const { door, head, address } = visit;
    const special = specialOf(door, head.path);
    const preflight = isPreflight(head);
    if (special === "none" && !preflight) return false;
    if (special === "internal") {
      this.refuse(visit, refusal.notFound);
      return true;
    }
    const reads = head.method === "GET" || head.method === "HEAD";
    if (special === "health" && (head.hasAuthorization || !reads) && !preflight) return false;
    if (special === "version" && !reads && !preflight) return false;
    const { publicAnswers, clock } = this.#ports;
    if (!address.anonymous.take(clock.monotonicMs())) {
      this.refuse(visit, refusal.tooManyFailures(address.anonymous.secondsToNext), address.pace);
    } else if (preflight) this.#answerPreflight(visit);
    else if (special === "ui") this.#showConsole(visit);
    else if (facts.sleep !== undefined) this.refuse(visit, refusal.asleep);
    else this.#tellPublic(visit, special === "version" ? () => publicAnswers.version(facts) : () => publicAnswers.health(facts));
    return true;
  }

  #answerPreflight(visit: Visit): void {
    if (visit.door === "ingress") return answerOwn(visit, 204, ingressPreflight(visit.head), "");
    if (visit.head.origin !== this.consoleOrigin) return this.refuse(visit, refusal.forbiddenOrigin);
    answerOwn(visit, 204, [...adminPreflight], "");
  }

  #showConsole(visit: Visit): void {
    if (this.#consoleUrl === undefined) return this.refuse(visit, refusal.notFound);
    answerOwn(visit, 307, ["location", this.#consoleUrl], "");
  }

  #tellPublic(visit: Visit, ask: () => PublicAnswer | Promise<PublicAnswer>): void {
    const tell = (answer: PublicAnswer): void => {
      if (answer.kind === "unavailable") return this.refuse(visit, refusal.unreachable);
      answerOwn(visit, 200, ["content-type", "application/json"], visit.head.method === "HEAD" ? "" : answer.body);
    };
    const answer = ask();
    if (!(answer instanceof Promise)) return tell(answer);
    answer.then(
      (late) => this.resume(visit, () => tell(late)),
      () => this.resume(visit, () => this.refuse(visit, refusal.unreachable)),
    );
  }
}
