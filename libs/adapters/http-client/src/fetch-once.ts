/**
 * One whole request and response over an endpoint's own transport, for discovery. For https without a configured version the TLS handshake
 * (ALPN) selects the one that the endpoint supports (service-protocol §1.2).
 */
import { isIP } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { type Clock, handleErrors } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import { type EndpointTransport, exchangeWhole, type TransportFailure } from "@perdure/endpoint-transport";
import { refusedFailure } from "./admit.js";
import { type EndpointBase, endpointBase } from "./endpoint-base.js";
import { clientFailure, connectFailure, deniedFailure } from "./failures.js";
import { CONNECT_TIMEOUT_MS } from "./limits.js";

export interface FetchRequest {
  readonly uri: string;
  /** `auto`: HTTP/2 for http addresses, whatever TLS agrees on for https. */
  readonly httpVersion: "HTTP/1.1" | "HTTP/2.0" | "auto";
  readonly method: "GET" | "POST";
  /** Appended to the address's base path. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** A longer response body is a `protocol` failure. */
  readonly responseBytesMax: number;
  /** Time from connecting to the last byte. When it is over, the failure is `connect` before the headers and `reset` after them. */
  readonly timeoutMs: number;
}

export type FetchOutcome =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly headers: Readonly<Record<string, string | undefined>>;
      readonly body: Uint8Array;
      readonly httpVersion: "HTTP/1.1" | "HTTP/2.0";
    }
  | { readonly kind: "failed"; readonly failure: TransportFailure };

interface FetchDeps {
  readonly transport: EndpointTransport;
  readonly clock: Clock;
  /** These two as given to the transport. */
  readonly guard?: EgressGuard | undefined;
  readonly trustedCertificates?: string;
}

/** Never rejects; `signal` ends it as a `client` failure. */
export async function fetchOnce(
  deps: FetchDeps,
  request: FetchRequest,
  { signal }: { signal?: AbortSignal } = {},
): Promise<FetchOutcome> {
  const base = endpointBase(request.uri);
  if (base === undefined) return { kind: "failed", failure: clientFailure("the address is not an http or https one") };
  if (request.httpVersion !== "auto") return exchange(deps, request, request.httpVersion, signal);
  if (!base.secure) return exchange(deps, request, "HTTP/2.0", signal);
  if (deps.guard?.allows(request.uri) === false) return { kind: "failed", failure: deniedFailure() };
  const begunAtMs = deps.clock.monotonicMs();
  const agreed = await agreedVersion(base, deps);
  if (agreed.kind === "failed") return agreed;
  const timeoutMs = Math.max(1, request.timeoutMs - (deps.clock.monotonicMs() - begunAtMs));
  return exchange(deps, { ...request, timeoutMs }, agreed.httpVersion, signal);
}

async function exchange(
  deps: FetchDeps,
  { uri, method, path, headers, body, responseBytesMax, timeoutMs }: FetchRequest,
  httpVersion: "HTTP/1.1" | "HTTP/2.0",
  signal: AbortSignal | undefined,
): Promise<FetchOutcome> {
  const request = { address: { kind: "http", uri, httpVersion }, method, path, headers, body } as const;
  const outcome = await exchangeWhole(deps, request, { responseBytesMax, timeoutMs }, signal);
  return outcome.kind === "response" ? { ...outcome, httpVersion } : outcome;
}

type VersionNegotiation =
  | { readonly kind: "agreed"; readonly httpVersion: "HTTP/1.1" | "HTTP/2.0" }
  | (FetchOutcome & { readonly kind: "failed" });

/** One TLS handshake offering both; a peer without ALPN speaks HTTP/1.1. */
function agreedVersion(base: EndpointBase, { clock, trustedCertificates, guard }: FetchDeps): Promise<VersionNegotiation> {
  const admission = guard?.admitOrigin(base.origin);
  if (admission !== undefined && admission.kind !== "admitted")
    return Promise.resolve({ kind: "failed", failure: refusedFailure(admission, base.authority) });
  return new Promise((resolve) => {
    const socket = tlsConnect({
      host: base.hostname,
      port: base.port,
      ALPNProtocols: ["h2", "http/1.1"],
      ...(isIP(base.hostname) === 0 ? { servername: base.hostname } : {}),
      ...(trustedCertificates === undefined ? {} : { ca: trustedCertificates }),
      ...(admission === undefined ? {} : { lookup: admission.lookup }),
    });
    // After the first call the promise is settled and later errors change nothing.
    handleErrors(socket, (cause) => failed(cause));
    if (admission !== undefined) socket.once("close", admission.release);
    const finish = (agreed: VersionNegotiation) => {
      timer.cancel();
      socket.destroy();
      resolve(agreed);
    };
    const failed = (cause: unknown) => finish({ kind: "failed", failure: connectFailure(base.authority, cause) });
    const timer = clock.setTimer(CONNECT_TIMEOUT_MS, () => failed(`no TLS connection within ${CONNECT_TIMEOUT_MS / 1000} s`));
    socket.once("secureConnect", () =>
      finish({ kind: "agreed", httpVersion: socket.alpnProtocol === "h2" ? "HTTP/2.0" : "HTTP/1.1" }),
    );
  });
}
