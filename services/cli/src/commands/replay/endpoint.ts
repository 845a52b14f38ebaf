/** Discovers the endpoint of a replay, with the requests that a server sends. */
import { type Clock, newDeploymentId, systemRandom } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { type FetchOutcome, fetchOnce } from "@perdure/http-client";
import { type HandlerDefinition, MANIFEST_ACCEPT, MANIFEST_BYTES_MAX, type Manifest, parseManifest } from "@perdure/manifest";
import { isSupportedVersion, type ProtocolVersion, protocolVersionMax, selectVersion } from "@perdure/service-protocol";
import { CliError, FAILED } from "../../errors.js";
import { DISCOVERY_MS } from "./limits.js";

export interface ReplayEndpoint {
  readonly deployment: DeploymentView;
  readonly manifest: Manifest;
  readonly sdk: string | undefined;
}

interface EndpointDeps {
  readonly transport: EndpointTransport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Statuses after which another version of HTTP is not tried: a manifest, or a request for a signature. */
const DECIDED: ReadonlySet<number> = new Set([200, 401]);

/** Over HTTP/2, and over HTTP/1.1 when that fails. Ends the command when no endpoint answers. */
export async function discoverEndpoint(uri: string, deps: EndpointDeps): Promise<ReplayEndpoint> {
  const first = await discover(uri, "auto", deps);
  const answer = first.kind === "response" && DECIDED.has(first.status) ? first : await discover(uri, "HTTP/1.1", deps);
  if (answer.kind === "failed") {
    const advice = "Start your service, in your debugger, and give its address with --endpoint.";
    throw new CliError(FAILED, `${uri} does not answer: ${answer.failure.message}`, advice);
  }
  if (answer.status === 401) {
    const advice = "Start it without identity keys: a replay has no key to sign with.";
    throw new CliError(FAILED, `${uri} accepts only signed requests`, advice);
  }
  const parsed = parseManifest(answer.headers["content-type"], new TextDecoder().decode(answer.body));
  if (answer.status !== 200 || !parsed.ok) {
    const why = parsed.ok ? `it answers ${answer.status}` : parsed.problem.detail;
    throw new CliError(FAILED, `${uri} serves no handlers: ${why}`, "Give the address of your service with --endpoint.");
  }
  const { manifest } = parsed;
  const deployment: DeploymentView = {
    id: newDeploymentId(deps.clock.nowMs(), systemRandom),
    address: { kind: "http", uri, httpVersion: answer.httpVersion },
    additionalHeaders: {},
    protocolType: manifest.protocolMode,
    minProtocolVersion: manifest.minProtocolVersion,
    maxProtocolVersion: manifest.maxProtocolVersion,
    services: new Map(),
  };
  return { deployment, manifest, sdk: answer.headers["x-restate-server"] };
}

function discover(
  uri: string,
  httpVersion: "auto" | "HTTP/1.1",
  { transport, clock, signal }: EndpointDeps,
): Promise<FetchOutcome> {
  const request = { uri, httpVersion, method: "GET", path: "/discover", headers: { accept: MANIFEST_ACCEPT } } as const;
  return fetchOnce(
    { transport, clock },
    { ...request, responseBytesMax: MANIFEST_BYTES_MAX, timeoutMs: DISCOVERY_MS },
    { signal },
  );
}

/** The handler of the endpoint, and whether it reads state lazily. Ends the command when there is none. */
export function handlerOf(
  { manifest, deployment }: ReplayEndpoint,
  target: { readonly service: string; readonly handler: string },
): { readonly handler: HandlerDefinition; readonly isLazy: boolean } {
  const service = manifest.services.find(({ name }) => name === target.service);
  const handler = service?.handlers.find(({ name }) => name === target.handler);
  if (service === undefined || handler === undefined) {
    const served = manifest.services.map(({ name, handlers }) => `${name} (${handlers.map((one) => one.name).join(", ")})`);
    throw new CliError(
      FAILED,
      `${addressOf(deployment)} does not serve ${target.service}/${target.handler}; it serves ${served.join(", ") || "nothing"}`,
      "Start the service that has this handler, or give its address with --endpoint.",
    );
  }
  return { handler, isLazy: (handler.options.enableLazyState ?? service.options.enableLazyState) === true };
}

function addressOf({ address }: DeploymentView): string {
  return address.kind === "http" ? address.uri : address.arn;
}

/** The version that the invocation is pinned to when the endpoint has it, else the highest that it has. Ends the command when there is none. */
export function versionOf({ manifest }: ReplayEndpoint, pinned: number | undefined): ProtocolVersion {
  const { minProtocolVersion: min, maxProtocolVersion: max } = manifest;
  if (pinned !== undefined && isSupportedVersion(pinned) && min <= pinned && pinned <= max) return pinned;
  const choice = selectVersion(min, max, protocolVersionMax);
  if (choice.kind === "version") return choice.version;
  throw new CliError(FAILED, `The SDK of the endpoint speaks service protocols ${min} to ${max}, which this program does not`);
}
