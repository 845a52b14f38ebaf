/**
 * Discovers what an endpoint serves: requests its manifest, retries while the endpoint only seems to be starting, and maps each failure
 * to its error code (service-protocol.md §13.1, §13.3).
 */
import { STATUS_CODES } from "node:http";
import { Backoff, type Clock, pause, type Random } from "@perdure/base";
import { printable } from "@perdure/egress";
import { MANIFEST_ACCEPT, MANIFEST_BYTES_MAX, type Manifest, PROTOCOL_VERSIONS, parseManifest } from "@perdure/manifest";
import { type DeploymentAddress, RegistryRefusal } from "@perdure/metadata";
import { addressText } from "./address.js";
import { destinationRefused } from "./guarded.js";
import {
  DISCOVERY_ATTEMPTS_MAX,
  DISCOVERY_RETRY_BOUNDS,
  DISCOVERY_TIMEOUT_MS,
  DISCOVERY_TOTAL_MS,
  GUARDED_QUOTE_CHARS_MAX,
  QUOTED_BODY_CHARS_MAX,
} from "./limits.js";
import type { DiscoveryAnswer, DiscoveryFetcher, DiscoveryTarget } from "./ports.js";

/** The manifest of an endpoint, the address it was read from, and the protocol used. */
export interface Discovered {
  readonly manifest: Manifest;
  readonly address: DeploymentAddress;
  readonly sdkVersion: string | undefined;
}

export interface DiscoveryPorts {
  readonly fetcher: DiscoveryFetcher;
  readonly clock: Clock;
  /** Draws the pauses between attempts. */
  readonly random?: Random | undefined;
  /** Sent with every request to an endpoint, lower-case names; a deployment's own headers take precedence. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  /** Set when any tenant may have named the endpoint: errors then quote little of its response. */
  readonly isGuarded?: boolean;
}

const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const RETRIED_FAILURES: ReadonlySet<string> = new Set(["connect", "reset", "refused"]);
/** TypeScript SDKs 1.0 to 1.2 announce more protocol versions than they support. */
const MISTAKEN_SDKS = /^restate-sdk-typescript\/1\.[0-2]\./;

/** Throws `RegistryRefusal` with META0003, 0012, 0013, 0014, 0015, or the errors of `parseManifest`. */
export async function discover(
  ports: DiscoveryPorts,
  target: DiscoveryTarget,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Discovered> {
  const answer = await fetchWithRetries(ports, target, headers, signal);
  if (answer.kind === "failed") throw unreachableEndpoint(target, answer.failure.kind, answer.failure.message);
  const text = new TextDecoder().decode(answer.body);
  if (answer.status !== 200)
    throw ports.isGuarded === true ? guardedBadStatus(answer, text) : badStatus(answer.status, answer.headers, text);

  const parsed = parseManifest(answer.headers["content-type"], text);
  if (!parsed.ok) {
    const { status, code, detail } = parsed.problem; // The detail quotes the response.
    throw new RegistryRefusal(status, code, ports.isGuarded === true ? printable(detail, GUARDED_QUOTE_CHARS_MAX) : detail);
  }
  const sdkVersion = answer.headers["x-restate-server"];
  checkVersions(parsed.manifest, sdkVersion);
  checkMode(parsed.manifest, target, answer.httpVersion);
  return { manifest: parsed.manifest, address: addressOf(target, answer.httpVersion, parsed.manifest), sdkVersion };
}

async function fetchWithRetries(
  { fetcher, clock, random, requestHeaders }: DiscoveryPorts,
  target: DiscoveryTarget,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<DiscoveryAnswer> {
  const request = {
    target,
    method: "GET",
    path: "/discover",
    headers: { accept: MANIFEST_ACCEPT, ...requestHeaders, ...headers },
    responseBytesMax: MANIFEST_BYTES_MAX,
  } as const;
  const backoff = new Backoff(DISCOVERY_RETRY_BOUNDS, random);
  const endsAtMs = clock.monotonicMs() + DISCOVERY_TOTAL_MS;
  for (let attempt = 1; ; attempt++) {
    // An endpoint that sends a byte now and then ends each attempt by its timeout; a timeout alone would justify a retry.
    const timeoutMs = Math.min(DISCOVERY_TIMEOUT_MS, endsAtMs - clock.monotonicMs());
    const answer = await fetcher.fetch({ ...request, timeoutMs }, signal);
    if (attempt === DISCOVERY_ATTEMPTS_MAX || signal.aborted || !isWorthRetrying(answer)) return answer;
    const pauseMs = backoff.next();
    if (clock.monotonicMs() + pauseMs >= endsAtMs) return answer;
    await pause(clock, pauseMs, signal);
  }
}

function isWorthRetrying(answer: DiscoveryAnswer): boolean {
  if (answer.kind === "response") return RETRIED_STATUSES.has(answer.status);
  return RETRIED_FAILURES.has(answer.failure.kind);
}

function checkVersions(manifest: Manifest, sdkVersion: string | undefined): void {
  const max = sdkVersion !== undefined && MISTAKEN_SDKS.test(sdkVersion) ? 1 : manifest.maxProtocolVersion;
  if (manifest.minProtocolVersion <= PROTOCOL_VERSIONS.max && max >= PROTOCOL_VERSIONS.min) return;
  throw new RegistryRefusal(
    500,
    "META0012",
    `unsupported service protocol versions: [${manifest.minProtocolVersion}, ${max}]. Supported versions by this runtime are ` +
      `[${PROTOCOL_VERSIONS.min}, ${PROTOCOL_VERSIONS.max}]. Please upgrade the SDK and try registering again.`,
  );
}

function checkMode(manifest: Manifest, target: DiscoveryTarget, httpVersion: string | undefined): void {
  if (manifest.protocolMode !== "bidiStream") return;
  if (target.kind !== "lambda" && httpVersion !== "HTTP/1.0") return;
  const transport = target.kind === "lambda" ? "AWS Lambda" : "HTTP/1.0";
  throw new RegistryRefusal(
    500,
    "META0015",
    `the endpoint announces the bidirectional mode, which ${transport} cannot carry. Configure it for request-response mode.`,
  );
}

function addressOf(target: DiscoveryTarget, httpVersion: string | undefined, manifest: Manifest): DeploymentAddress {
  if (target.kind === "lambda") {
    return { kind: "lambda", arn: target.arn, assumeRoleArn: target.assumeRoleArn, compression: manifest.lambdaCompression };
  }
  return { kind: "http", uri: target.uri, httpVersion: httpVersion === "HTTP/2.0" ? "HTTP/2.0" : "HTTP/1.1" };
}

function unreachableEndpoint(target: DiscoveryTarget, kind: string, message: string): RegistryRefusal {
  const called = `error when calling '${addressText(target)}'`;
  if (kind === "denied") return destinationRefused();
  if (kind === "http11Peer") {
    return new RegistryRefusal(
      500,
      "META0014",
      `${called}: server possibly supports only HTTP1.1, consider discovery with --use-http1.1.`,
    );
  }
  return new RegistryRefusal(500, "META0003", `${called}: ${message}`);
}

/** Status, content type and the beginning of the body: enough to recognise one's own server, too little to read another's data. */
function guardedBadStatus({ status, headers }: DiscoveryAnswer & { kind: "response" }, body: string): RegistryRefusal {
  const contentType = printable(headers["content-type"] ?? "none", GUARDED_QUOTE_CHARS_MAX);
  const quoted = printable(body, GUARDED_QUOTE_CHARS_MAX);
  return new RegistryRefusal(500, "META0003", `got status code '${status}'. Content type: ${contentType}. Body: ${quoted}`);
}

function badStatus(status: number, headers: Readonly<Record<string, string | undefined>>, body: string): RegistryRefusal {
  const name = STATUS_CODES[status];
  const hint = status === 404 ? " Make sure the URI has the path at which the SDK endpoint is mounted." : "";
  const quoted = body.length > QUOTED_BODY_CHARS_MAX ? `${body.slice(0, QUOTED_BODY_CHARS_MAX)}…` : body;
  return new RegistryRefusal(
    500,
    "META0003",
    `got status code '${status}${name === undefined ? "" : ` ${name}`}'.${hint} ` +
      `Response headers: ${JSON.stringify(headers)}. Body: ${quoted}`,
  );
}
