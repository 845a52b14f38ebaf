/**
 * A request from its headers to its admission: resolves the environment and the caller. Cached answers are used in the same turn; only a
 * look-up at tenancy makes a request wait.
 *
 * host or port ─▸ environment ─▸ preflight, public answers ─▸ credential ─▸ admission
 * 404, 421        404, 503                                  401, 429
 */
import type { Clock } from "@perdure/base";
import { type BareEnvironmentId, type Credentials, credentialsOf } from "@perdure/cloud";
import type { ForwardingKeys } from "@perdure/cloud/forwarding";
import type { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import type { HttpExchange } from "@perdure/http-server";
import type { ClientAddresses } from "./addresses.js";
import type { GatewayAdmission } from "./admission.js";
import type { Answers } from "./answers.js";
import type { CallerCheck, Callers } from "./callers.js";
import { adminCors, ingressCors } from "./cors.js";
import type { EnvironmentLookup, GatewayEndpoint, GatewayEnvironment, GatewayEnvironments } from "./environments.js";
import { GatewayRequest, type RequestOwner } from "./gateway-request.js";
import type { HostNames } from "./host.js";
import * as refusal from "./refusal.js";
import { type RequestHead, type RequestLine, readHead } from "./request-head.js";
import type { RequestIds } from "./request-id.js";

/** Listener through which a request came in. */
export interface Entrance {
  readonly endpoint: GatewayEndpoint;
  /** The environment of the port, whatever host is named. */
  readonly environment: BareEnvironmentId | undefined;
}

interface ReceptionPorts {
  readonly clock: Clock;
  readonly hosts: HostNames;
  readonly ids: RequestIds;
  readonly addresses: ClientAddresses;
  readonly environments: GatewayEnvironments;
  readonly callers: Callers;
  readonly answers: Answers;
  readonly admission: GatewayAdmission;
}

interface ReceptionOptions {
  readonly region: string;
  /** The `iss` of access tokens. */
  readonly issuer: string;
  /** Keys of the signed client address of tenancy's requests; undefined where it is not used. */
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

  /** Never throws. Calls `owner` once when the request is over. */
  enter(owner: RequestOwner, entrance: Entrance, exchange: HttpExchange): void {
    const { ids, addresses, clock, answers } = this.#ports;
    const read = readHead(exchange);
    const isHead = "target" in read;
    const remoteAddress = (isHead ? this.#forwardedFor(read) : undefined) ?? this.#clientOf(exchange);
    const request = new GatewayRequest(owner, exchange, {
      endpoint: entrance.endpoint,
      head: isHead ? read : unread(exchange),
      address: addresses.of(remoteAddress),
      remoteAddress,
      requestId: ids.next(),
      startedAtMs: clock.monotonicMs(),
    });
    try {
      if (isHead) this.#findEnvironment(entrance, request);
      else answers.refuse(request, read);
    } catch (cause) {
      answers.crash(request, cause);
    }
  }

  /** Address of the browser, where tenancy forwards a request of the console (cloud.md §6.5: limits are per address). */
  #forwardedFor({ forwardedFor, authority }: RequestHead): string | undefined {
    if (forwardedFor === undefined || authority === undefined) return undefined;
    return this.#options.forwarding?.verify(forwardedFor, authority, this.#ports.clock.nowMs());
  }

  /** Address of the client: of the connection, or as trusted proxies report it. */
  #clientOf({ remoteAddress, rawHeaders }: HttpExchange): string {
    return this.#options.trustedProxies?.clientOf(remoteAddress, rawHeaders) ?? remoteAddress;
  }

  #findEnvironment(entrance: Entrance, request: GatewayRequest): void {
    const { answers, hosts, environments } = this.#ports;
    const { head, exchange, address } = request;
    let bare = entrance.environment;
    let region: string | undefined;
    if (bare === undefined) {
      if (head.host === undefined) return answers.refuse(request, head.authority === undefined ? NO_HOST : BAD_HOST);
      if (exchange.serverName !== undefined && exchange.serverName !== head.host) return answers.refuse(request, OTHER_NAME);
      const named = hosts.parse(head.host);
      if (named.kind === "unknown") return answers.refuse(request, refusal.unknownEnvironment);
      ({ bare, region } = named);
    }
    const lookup = environments.find(bare, address);
    if (!(lookup instanceof Promise)) return this.#applyLookup(request, lookup, region);
    lookup.then(
      (result) => answers.resume(request, () => this.#applyLookup(request, result, region)),
      (cause: unknown) => answers.resume(request, () => answers.tenancyFailed(request, cause)),
    );
  }

  #applyLookup(request: GatewayRequest, lookup: EnvironmentLookup, region: string | undefined): void {
    const { answers } = this.#ports;
    if (lookup === "throttled") return answers.refuseAddress(request);
    if (lookup === "unknown") return answers.refuse(request, refusal.unknownEnvironment);
    const { facts } = lookup;
    if (facts.status === "DELETING" || facts.status === "DELETED") return answers.refuse(request, refusal.unknownEnvironment);
    // A port has no name, so it cannot be of another region.
    if (region !== undefined && (region !== facts.region || region !== this.#options.region)) {
      const right = new URL(request.endpoint === "ingress" ? facts.ingressUrl : facts.adminUrl).host;
      return answers.refuse(request, refusal.misdirected(`This environment is served elsewhere: call ${right}`));
    }
    request.environment = lookup;
    request.cors =
      request.endpoint === "ingress"
        ? ingressCors(request.head.origin, facts.corsOrigins)
        : adminCors(request.head.origin, answers.consoleOrigin);
    if (facts.status === "PENDING") return answers.refuse(request, refusal.pending);
    if (facts.status === "FAILED") return answers.refuse(request, refusal.failed);
    if (answers.answersPublic(request, lookup)) return;
    this.#authenticate(request, lookup);
  }

  #authenticate(request: GatewayRequest, environment: GatewayEnvironment): void {
    const { answers, callers } = this.#ports;
    const { head, address } = request;
    const shown = head.hasAuthorization ? credentialsOf(head.rawHeaders, this.#options.issuer) : NOTHING_SHOWN;
    if (shown.credential === undefined) {
      return answers.refuseUnauthenticated(request, shown.foreign.length === 0 ? refusal.noCredential : refusal.badCredential);
    }
    if (environment.facts.forwardsForeignAuthorization && shown.foreign.length === 1) {
      request.foreignAuthorization = shown.foreign[0];
    }
    const check = callers.check(shown.credential, environment.facts.id, address);
    if (!(check instanceof Promise)) return this.#applyCheck(request, environment, check);
    check.then(
      (result) => answers.resume(request, () => this.#applyCheck(request, environment, result)),
      (cause: unknown) => answers.resume(request, () => answers.tenancyFailed(request, cause)),
    );
  }

  #applyCheck(request: GatewayRequest, environment: GatewayEnvironment, check: CallerCheck): void {
    const { answers, admission } = this.#ports;
    switch (check.kind) {
      case "throttled":
        return answers.refuseAddress(request);
      case "unknown":
        return answers.refuse(request, refusal.badCredential);
      case "elsewhere":
        return answers.refuse(request, refusal.notAllowed, environment.state[request.endpoint].pace);
      case "caller":
        request.caller = check.caller;
        return admission.admit(request, environment, check.caller);
    }
  }
}

const NOTHING_SHOWN: Credentials = { credential: undefined, foreign: [] };
const NO_HOST = refusal.malformed("The request names no host");
const BAD_HOST = refusal.malformed("The host name is malformed");
const OTHER_NAME = refusal.misdirected("The TLS handshake named another host");

/** Stands for the head of a request that could not be read. */
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
    isTraceRequested: false,
    userAgent: undefined,
    isHttp2,
    forwardedFor: undefined,
    connection: undefined,
  };
}
