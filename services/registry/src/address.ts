/**
 * Parses and normalises addresses of endpoints, so that one destination has one name. Two addresses are the same destination when
 * authority, path and the configured routing headers agree; scheme and query are not compared (admin-api.md §3.1).
 */
import { type DeploymentAddress, RegistryRefusal, type RequestedAddress } from "@perdure/metadata";
import { hasTunnelScheme, parseTunnelUri, type TunnelRoutes } from "@perdure/tunnel";
import type { DiscoveryTarget } from "./ports.js";

const ABSOLUTE = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i;

/** Facts that decide whether two addresses are the same destination. */
export interface Sameness {
  /** Additional headers of deployments that are part of their destination. */
  readonly routingHeaders: readonly string[];
  /** Destinations behind tunnels have two names each (cloud.md §2.9). */
  readonly tunnels: TunnelRoutes;
}

/** The destination of a request; throws `RegistryRefusal` 400 naming the field. */
export function discoveryTarget(address: RequestedAddress): DiscoveryTarget {
  if (address.kind === "lambda") {
    return { kind: "lambda", arn: checkArn(address.arn), assumeRoleArn: address.assumeRoleArn };
  }
  return { kind: "http", uri: normaliseUri(address.uri), httpVersion: address.useHttp11 ? "HTTP/1.1" : "auto" };
}

/** The destination of a stored deployment, to request it in the way it is invoked. */
export function targetOfStored(address: DeploymentAddress): DiscoveryTarget {
  return address.kind === "lambda"
    ? { kind: "lambda", arn: address.arn, assumeRoleArn: address.assumeRoleArn }
    : { kind: "http", uri: address.uri, httpVersion: address.httpVersion };
}

/** The address as shown to users. */
export function addressText(address: DeploymentAddress | DiscoveryTarget): string {
  return address.kind === "lambda" ? address.arn : address.uri;
}

/** Equal for two addresses exactly when they are the same destination. `headers` have lower-case names. */
export function identityOf(
  address: DeploymentAddress | DiscoveryTarget,
  headers: Readonly<Record<string, string>>,
  { routingHeaders, tunnels }: Sameness,
): string {
  const routing = routingHeaders.map((name) => JSON.stringify(headers[name.toLowerCase()] ?? null)).join(",");
  return `${placeOf(address, tunnels)} ${routing}`;
}

function placeOf(address: DeploymentAddress | DiscoveryTarget, tunnels: TunnelRoutes): string {
  if (address.kind === "lambda") return address.arn;
  const behindTunnel = tunnels.placeOf(address.uri);
  if (behindTunnel !== undefined) return behindTunnel;
  const url = new URL(address.uri);
  return `${url.host}${url.pathname.replace(/\/+$/, "")}`;
}

function normaliseUri(uri: string): string {
  const match = ABSOLUTE.exec(uri);
  if (match === null || match[2] === "" || match[2]?.startsWith("/")) {
    throw invalid("uri", `The provided uri ${uri} is not absolute, only absolute URIs can be used.`);
  }
  const scheme = match[1]?.toLowerCase();
  if (hasTunnelScheme(uri)) return normaliseTunnelUri(uri);
  if (scheme !== "http" && scheme !== "https") {
    throw invalid("uri", `The scheme '${scheme}' is not supported, use http, https or tunnel.`);
  }
  if (!URL.canParse(uri)) throw invalid("uri", `The provided uri ${uri} cannot be parsed.`);
  const url = new URL(uri);
  if (url.username !== "" || url.password !== "") {
    throw invalid("uri", "A uri cannot hold credentials, pass them in 'additional_headers'.");
  }
  return `${scheme}://${url.host}${url.pathname === "" ? "/" : url.pathname}${url.search}`;
}

function normaliseTunnelUri(uri: string): string {
  const address = parseTunnelUri(uri);
  if (address === undefined) {
    throw invalid(
      "uri",
      "An address behind a tunnel has the form 'tunnel://<name>:<port>/<path>', without credentials and query.",
    );
  }
  return `tunnel${address.scheme === "https" ? "+https" : ""}://${address.name}:${address.port}${address.path}`;
}

function checkArn(arn: string): string {
  const parts = arn.split(":");
  if (parts.length === 7 && parts[0] === "arn" && parts[2] === "lambda") {
    throw invalid(
      "arn",
      "A qualified ARN needs a version or alias suffix. If you want to use the unpublished version, " +
        "provide $LATEST and make sure your shell doesn't treat it as a variable",
    );
  }
  if (parts.length !== 8) throw invalid("arn", "A qualified ARN must have 8 components delimited by `:`");
  const [head, partition, service, region, account, resource, name, qualifier] = parts;
  if (head !== "arn" || service !== "lambda" || resource !== "function") {
    throw invalid("arn", "An ARN of a function looks like 'arn:<partition>:lambda:<region>:<account>:function:<name>:<version>'");
  }
  if ([partition, region, account, name, qualifier].includes("")) throw invalid("arn", "No component of the ARN can be empty");
  return arn;
}

function invalid(field: string, reason: string): RegistryRefusal {
  return new RegistryRefusal(400, undefined, `The request field '${field}' is invalid. Reason: ${reason}`);
}
