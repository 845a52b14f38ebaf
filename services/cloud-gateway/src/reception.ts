/**
 * Why: the way of a request from its headers to its admission: whose environment is asked for, and who asks. What is known is
 * decided in the same turn; only a look-up at tenancy makes a request wait.
 *
 *     host or port ─▸ environment ─▸ preflight, public answers ─▸ credential ─▸ admission
 *          404, 421        404, 503                                  401, 429
 */
import type { Clock } from "@perdure/base";
import { type BareEnvironmentId, type Credentials, credentialsOf } from "@perdure/cloud";
import type { ForwardingKeys } from "@perdure/cloud/forwarding";
import type { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import type { Addresses } from "./addresses.js";
import type { Admission } from "./admission.js";
import type { Answers } from "./answers.js";
import type { Callers, Verdict } from "./callers.js";
import { adminCors, ingressCors } from "./cors.js";
import type { Environment, Environments, Found, GatewayDoor } from "./environments.js";
import type { Exchange } from "./exchange.js";
import type { HostNames } from "./host.js";
import * as refusal from "./refusal.js";
import { type RequestHead, type RequestLine, readHead } from "./request-head.js";
import type { RequestIds } from "./request-id.js";
import { Visit, type VisitOwner } from "./visit.js";

/** Where a visit came in. */
export interface Entrance {
  readonly door: GatewayDoor;
  /** Whose port it is, whatever host is named. */
  readonly environment: BareEnvironmentId | undefined;
}

export interface ReceptionPorts {
  readonly clock: Clock;
  readonly hosts: HostNames;
  readonly ids: RequestIds;
  readonly addresses: Addresses;
  readonly environments: Environments;
  readonly callers: Callers;
  readonly answers: Answers;
  readonly admission: Admission;
}

export interface ReceptionOptions {
  readonly region: string;
  /** The `iss` of access tokens. */
  readonly issuer: string;
  /** What tenancy shows for whom it carries requests; undefined where it cannot. */
  readonly forwarding?: ForwardingKeys | undefined;
  readonly trustedProxies?: TrustedProxies | undefined;
}

export class Reception {
  readonly #ports: ReceptionPorts;
  readonly #options: ReceptionOptions;

  constructor(ports: ReceptionPorts, options: ReceptionOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  /** Never throws. `owner` hears once when the visit is over. */
  enter(owner: VisitOwner, entrance: Entrance, exchange: Exchange, line: RequestLine): void {
    const { ids, addresses, clock, answers } = this.#ports;
    const read = readHead(line);
    const isHead = "target" in read;
    const remoteAddress = (isHead ? this.#forwardedFor(read) : undefined) ?? this.#clientOf(exchange, line);
    const visit = new Visit(owner, exchange, {
      door: entrance.door,
      head: isHead ? read : unread(line),
      address: addresses.of(remoteAddress),
      remoteAddress,
      requestId: ids.next(),
      startedAtMs: clock.monotonicMs(),
    });
    try {
      if (isHead) this.#findEnvironment(entrance, visit);
      else answers.refuse(visit, read);
    } catch (cause) {
      answers.crash(visit, cause);
    }
  }

  /** Of the browser, where tenancy carries a request of the console (cloud.md §6.5: limits are per address). */
  #forwardedFor({ forwardedFor, authority }: RequestHead): string | undefined {
    if (forwardedFor === undefined || authority === undefined) return undefined;
    return this.#options.forwarding?.verify(forwardedFor, authority, this.#ports.clock.nowMs());
  }

  /** Of the client as far as it is known: of the connection, or what trusted proxies report. */
  #clientOf({ remoteAddress }: Exchange, { rawHeaders }: RequestLine): string {
    return this.#options.trustedProxies?.clientOf(remoteAddress, rawHeaders) ?? remoteAddress;
  }

  #findEnvironment(entrance: Entrance, visit: Visit): void {
    const { answers, hosts, environments } = this.#ports;
    const { head, exchange, address } = visit;
    let bare = entrance.environment;
    let region: string | undefined;
    if (bare === undefined) {
      if (head.host === undefined) return answers.refuse(visit, head.authority === undefined ? NO_HOST : BAD_HOST);
      if (exchange.serverName !== undefined && exchange.serverName !== head.host) return answers.refuse(visit, OTHER_NAME);
      const named = hosts.parse(head.host);
      if (named.kind === "unknown") return answers.refuse(visit, refusal.unknownEnvironment);
      ({ bare, region } = named);
    }
    const found = environments.find(bare, address);
    if (!(found instanceof Promise)) return this.#foundEnvironment(visit, found, region);
    found.then(
      (late) => answers.resume(visit, () => this.#foundEnvironment(visit, late, region)),
      (cause: unknown) => answers.resume(visit, () => answers.tenancyFailed(visit, cause)),
    );
  }

  #foundEnvironment(visit: Visit, found: Found, region: string | undefined): void {
    const { answers } = this.#ports;
    if (found === "throttled") return answers.refuseAddress(visit);
    if (found === "nobody") return answers.refuse(visit, refusal.unknownEnvironment);
    const { facts } = found;
    if (facts.status === "DELETING" || facts.status === "DELETED") return answers.refuse(visit, refusal.unknownEnvironment);
    // By port there is no name that could be of another region.
    if (region !== undefined && (region !== facts.region || region !== this.#options.region)) {
      const right = new URL(visit.door === "ingress" ? facts.ingressUrl : facts.adminUrl).host;
      return answers.refuse(visit, refusal.misdirected(`This environment is served elsewhere: call ${right}`));
    }
    visit.environment = found;
    visit.cors =
      visit.door === "ingress"
        ? ingressCors(visit.head.origin, facts.corsOrigins)
        : adminCors(visit.head.origin, answers.consoleOrigin);
    if (facts.status === "PENDING") return answers.refuse(visit, refusal.pending);
    if (facts.status === "FAILED") return answers.refuse(visit, refusal.failed);
    if (answers.answersAnybody(visit, found)) return;
    this.#authenticate(visit, found);
  }

  #authenticate(visit: Visit, environment: Environment): void {
    const { answers, callers } = this.#ports;
    const { head, address } = visit;
    const shown = head.hasAuthorization ? credentialsOf(head.rawHeaders, this.#options.issuer) : NOTHING_SHOWN;
    if (shown.credential === undefined) {
      return answers.refuseStranger(visit, shown.foreign.length === 0 ? refusal.noCredential : refusal.badCredential);
    }
    if (environment.facts.forwardsForeignAuthorization && shown.foreign.length === 1) {
      visit.foreignAuthorization = shown.foreign[0];
    }
    const verdict = callers.check(shown.credential, environment.facts.id, address);
    if (!(verdict instanceof Promise)) return this.#judged(visit, environment, verdict);
    verdict.then(
      (late) => answers.resume(visit, () => this.#judged(visit, environment, late)),
      (cause: unknown) => answers.resume(visit, () => answers.tenancyFailed(visit, cause)),
    );
  }

  #judged(visit: Visit, environment: Environment, verdict: Verdict): void {
    const { answers, admission } = this.#ports;
    switch (verdict.kind) {
      case "throttled":
        return answers.refuseAddress(visit);
      case "unknown":
        return answers.refuse(visit, refusal.badCredential);
      case "elsewhere":
        return answers.refuse(visit, refusal.notAllowed, environment.state[visit.door].pace);
      case "caller":
        visit.caller = verdict.caller;
        return admission.admit(visit, environment, verdict.caller);
    }
  }
}

const NOTHING_SHOWN: Credentials = { credential: undefined, foreign: [] };
const NO_HOST = refusal.malformed("The request names no host");
const BAD_HOST = refusal.malformed("The host name is malformed");
const OTHER_NAME = refusal.misdirected("The TLS handshake named another host");

/** What is told of a request whose head could not be taken. */
function unread({ method, rawHeaders, isHttp2 }: RequestLine): RequestHead {
  return {
    method: /^[A-Z]{1,24}$/.test(method) ? method : "?",
    target: "/",
    path: "/",
    host: undefined,
    authority: undefined,
    rawHeaders,
    contentLength: undefined,
    isChunked: false,
    hasAuthorization: false,
    origin: undefined,
    requestedMethod: undefined,
    requestedHeaders: undefined,
    traceparent: undefined,
    wantsTrace: false,
    userAgent: undefined,
    isHttp2,
    forwardedFor: undefined,
    connection: undefined,
  };
}
