/**
 * Why: one destination must have one name, however it was written. Addresses are checked and normalised here, and two of them
 * are the same destination when authority, path and the configured routing headers agree; scheme and query are not compared
 * (admin-api.md §3.1).
 */
import { type DeploymentAddress, RegistryRefusal, type RequestedAddress } from "@perdure/metadata";
import type { DiscoveryTarget } from "./ports.js";

const ABSOLUTE = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i;
const TUNNEL_NAME = /^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

/** Whom a request means; throws `RegistryRefusal` 400 naming the field. */
export function discoveryTarget(address: RequestedAddress): DiscoveryTarget {
  if (address.kind === "lambda") {
    return { kind: "lambda", arn: checkArn(address.arn), assumeRoleArn: address.assumeRoleArn };
  }
  return { kind: "http", uri: normaliseUri(address.uri), httpVersion: address.useHttp11 ? "HTTP/1.1" : "auto" };
}

/** Whom a stored deployment means, to ask it again the way it is invoked. */
export function targetOfStored(address: DeploymentAddress): DiscoveryTarget {
  return address.kind === "lambda"
    ? { kind: "lambda", arn: address.arn, assumeRoleArn: address.assumeRoleArn }
    : { kind: "http", uri: address.uri, httpVersion: address.httpVersion };
}

/** The address as people read it. */
export function addressText(address: DeploymentAddress | DiscoveryTarget): string {
  return address.kind === "lambda" ? address.arn : address.uri;
}

/** Equal for two addresses exactly when they are the same destination. `headers` have lower-case names. */
export function identityOf(
  address: DeploymentAddress | DiscoveryTarget,
  headers: Readonly<Record<string, string>>,
  routingHeaders: readonly string[],
): string {
  const routing = routingHeaders.map((name) => JSON.stringify(headers[name.toLowerCase()] ?? null)).join(",");
  return `${placeOf(address)} ${routing}`;
}

function placeOf(address: DeploymentAddress | DiscoveryTarget): string {
  if (address.kind === "lambda") return address.arn;
  const url = new URL(address.uri);
  const path = url.pathname.replace(/\/+$/, "");
  // A tunnel's name is no host name, so the two never mean the same place.
  return url.protocol === "tunnel:" ? `tunnel:${url.host}${path}` : `${url.host}${path}`;
}

function normaliseUri(uri: string): string {
  const match = ABSOLUTE.exec(uri);
  if (match === null || match[2] === "" || match[2]?.startsWith("/")) {
    throw invalid("uri", `The provided uri ${uri} is not absolute, only absolute URIs can be used.`);
  }
  const scheme = match[1]?.toLowerCase();
  if (scheme !== "http" && scheme !== "https" && scheme !== "tunnel") {
    throw invalid("uri", `The scheme '${scheme}' is not supported, use http, https or tunnel.`);
  }
  if (!URL.canParse(uri)) throw invalid("uri", `The provided uri ${uri} cannot be parsed.`);
  const url = new URL(uri);
  if (url.username !== "" || url.password !== "") {
    throw invalid("uri", "A uri cannot hold credentials, pass them in 'additional_headers'.");
  }
  if (scheme === "tunnel" && (!TUNNEL_NAME.test(url.hostname) || url.port === "")) {
    throw invalid("uri", "A tunnel is named like 'tunnel://<name>:<port>'.");
  }
  return `${scheme}://${url.host}${url.pathname === "" ? "/" : url.pathname}${url.search}`;
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
