/**
 * Forwards requests of the console's page to environments, so that the page needs no credential for them: each request carries a token
 * of the session's user, is streamed both ways, and ends when either side disconnects.
 */

import type { ClientRequest, IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { present } from "@perdure/base";
import { parseEnvironmentId } from "@perdure/cloud";
import type { TenancyPorts } from "@perdure/cloud-api";
import { PROXY_PREFIX } from "@perdure/cloud-api";
import { TenancyApiError } from "@perdure/cloud-requests";
import { isServed } from "@perdure/environments";
import { clientOf } from "@perdure/identity";
import type { EnvironmentRecord, SessionRecord } from "@perdure/postgres";
import type { Request, Response } from "express";
import type { GatewayLink, ProxiedEndpoint } from "./gateway-link.js";
import {
  PROXIED_AT_ONCE_MAX,
  PROXIED_BODY_BYTES_MAX,
  PROXIED_CONNECT_MS,
  PROXIED_HEADERS_MS,
  PROXIED_KEEP_ALIVE_MS,
  PROXIED_OF_USER_MAX,
} from "./limits.js";
import { MintedTokens } from "./minted-tokens.js";
import type { PageGuard } from "./page-guard.js";
import { headersForGateway, headersForPage, type RequestBody } from "./proxy-headers.js";
import { ProxySemaphore } from "./proxy-semaphore.js";
import { SessionWatch } from "./session-watch.js";

interface ProxyTarget {
  readonly environment: EnvironmentRecord;
  readonly endpoint: ProxiedEndpoint;
  /** Path with query at that endpoint. */
  readonly path: string;
  /** Path of the endpoint at the console's origin. */
  readonly prefix: string;
}

const TARGET = /^(env_[0-9a-z]+)\/(admin|ingress)(\/[^#]*)$/;

export class EnvironmentProxy {
  readonly #ports: TenancyPorts;
  readonly #guard: PageGuard;
  readonly #link: GatewayLink;
  readonly #tokens: MintedTokens;
  readonly #sessions: SessionWatch;
  readonly #semaphore = new ProxySemaphore({ all: PROXIED_AT_ONCE_MAX, ofUser: PROXIED_OF_USER_MAX });

  constructor(ports: TenancyPorts, guard: PageGuard, link: GatewayLink) {
    this.#ports = ports;
    this.#guard = guard;
    this.#link = link;
    this.#tokens = new MintedTokens(ports.tokens, ports.clock);
    const living = (ids: readonly string[]) => ports.database.tables.logins.living(ids, ports.clock.nowMs());
    this.#sessions = new SessionWatch({ living, clock: ports.clock, logger: ports.logger });
  }

  /** Resolves when the answer has begun, or the client has left. */
  async answer(req: Request, res: Response): Promise<void> {
    const permit = this.#semaphore.enter();
    res.once("close", permit.leave);
    const { session } = await this.#guard.admit(req);
    permit.assignUser(session.userId);
    const body = bodyOf(req);
    const target = await this.#target(req.originalUrl, session);
    const token = await this.#tokens.of(session);
    if (res.destroyed) return; // The client has left meanwhile.
    const headers = headersForGateway(req.rawHeaders, token.reveal(), body);
    const outgoing = this.#opened(target, req, headers, clientOf(req, res));
    const untilSessionEnds = (end: () => void) => this.#sessions.watch(session, end);
    await passOn(req, res, outgoing, { body, target, clock: this.#ports.clock, untilSessionEnds });
  }

  /** Foreign, deleted and unknown environments get the same answer (T30). The gateway decides what a member may do there. */
  async #target(url: string, { userId }: SessionRecord): Promise<ProxyTarget> {
    const match = url.startsWith(PROXY_PREFIX) ? TARGET.exec(url.slice(PROXY_PREFIX.length)) : null;
    const id = parseEnvironmentId(match?.[1] ?? "");
    if (match === null || id === undefined) throw unknown();
    const { environments, accounts } = this.#ports.database.tables;
    const environment = await environments.get(id);
    const role = environment === undefined ? undefined : await accounts.roleOf(environment.accountId, userId);
    if (environment === undefined || role === undefined || !isServed(environment)) throw unknown();
    const endpoint = match[2] as ProxiedEndpoint;
    return { environment, endpoint, path: present(match[3]), prefix: `${PROXY_PREFIX}${id}/${endpoint}` };
  }

  #opened(
    { environment, endpoint, path }: ProxyTarget,
    { method }: Request,
    headers: readonly string[],
    remoteAddress: string | undefined,
  ): ClientRequest {
    try {
      return this.#link.open(environment, endpoint, {
        method,
        target: path,
        headers,
        remoteAddress,
      });
    } catch (cause) {
      if (cause instanceof TypeError) throw new TenancyApiError("PERD0400", "This request cannot be sent to an environment");
      throw cause;
    }
  }
}

function unknown(): TenancyApiError {
  return new TenancyApiError("PERD0404", "Unknown environment");
}

/** Throws PERD0413. The parser guarantees one length and no second way to read it. */
function bodyOf(req: IncomingMessage): RequestBody {
  if (req.headers["transfer-encoding"] !== undefined) return { kind: "open" };
  const bytes = Number(req.headers["content-length"] ?? 0);
  if (bytes > PROXIED_BODY_BYTES_MAX) throw tooLong();
  return bytes === 0 ? { kind: "none" } : { kind: "measured", bytes };
}

function tooLong(): TenancyApiError {
  return new TenancyApiError("PERD0413", `The request body is longer than ${PROXIED_BODY_BYTES_MAX} bytes`, {
    connection: "close",
  });
}

interface ForwardOptions {
  readonly body: RequestBody;
  readonly target: ProxyTarget;
  readonly clock: TenancyPorts["clock"];
  /** Calls `end` when the session ends; returns a function that cancels this. */
  readonly untilSessionEnds: (end: () => void) => () => void;
}

/** Rejects with the error to answer when the gateway gives no answer; later failures cut the answer off. */
function passOn(req: IncomingMessage, res: Response, outgoing: ClientRequest, options: ForwardOptions): Promise<void> {
  const { body, target, clock, untilSessionEnds } = options;
  return new Promise((resolve, reject) => {
    let isOver = false;
    let isConnected = false;
    const over = (end: () => void): void => {
      if (isOver) return;
      isOver = true;
      connecting.cancel();
      headers?.cancel();
      end();
    };
    const fail = (error: TenancyApiError): void =>
      over(() => {
        outgoing.destroy();
        reject(error);
      });
    const connecting = clock.setTimer(PROXIED_CONNECT_MS, () => {
      if (!isConnected) fail(unreachable());
    });
    // Services may take hours to answer; management does not.
    const headers = target.endpoint === "admin" ? clock.setTimer(PROXIED_HEADERS_MS, () => fail(tooSlow())) : undefined;

    outgoing.on("socket", (socket) => {
      socket.setKeepAlive(true, PROXIED_KEEP_ALIVE_MS); // Detects a gateway that vanished.
      socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", () => {
        isConnected = true;
      });
    });
    // Once an answer has begun, it reports its own end: an error while the rest of the request is sent does not fail it.
    outgoing.on("error", (cause: NodeJS.ErrnoException) => {
      fail(NOT_CONNECTED.has(cause.code ?? "") ? unreachable() : new TenancyApiError("PERD0502", "The gateway did not answer"));
    });
    outgoing.on("response", (incoming) =>
      over(() => {
        begin(res, incoming, target.prefix);
        resolve();
      }),
    );
    const stopWaiting = untilSessionEnds(() => {
      if (isOver) res.destroy();
      else fail(new TenancyApiError("PERD0401", "You are not signed in any more"));
    });
    res.once("close", () => {
      stopWaiting();
      outgoing.destroy();
      over(resolve);
    });

    if (body.kind === "none") outgoing.end();
    else send(req, outgoing, fail);
  });
}

/** Sends the body of a request at the pace of the gateway. */
function send(req: IncomingMessage, outgoing: ClientRequest, fail: (error: TenancyApiError) => void): void {
  let bytes = 0;
  req.on("data", (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > PROXIED_BODY_BYTES_MAX) fail(tooLong());
  });
  req.pipe(outgoing);
}

/** Forwards a response at the pace of the browser. When one side ends early, the other is cut off. */
function begin(res: Response, incoming: IncomingMessage, prefix: string): void {
  const headers = headersForPage(incoming.rawHeaders, prefix);
  for (let at = 0; at < headers.length; at += 2) res.setHeader(present(headers[at]), present(headers[at + 1]));
  res.writeHead(incoming.statusCode ?? 502);
  incoming.on("error", () => res.destroy());
  incoming.pipe(res);
}

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
]);

function unreachable(): TenancyApiError {
  return new TenancyApiError("PERD0503", "The environment cannot be reached at the moment: try again", { "retry-after": "1" });
}

function tooSlow(): TenancyApiError {
  return new TenancyApiError("PERD0504", "The environment did not answer in time");
}
