/**
 * Why: the console asks environments through the gateway, as everybody does: roles, rates, audit and waking up are decided there and
 * nowhere else. Host names of environments need not resolve from here, so where gateways really listen can be said.
 */
import { type ClientRequest, request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { EnvironmentEndpoint } from "@perdure/cloud";
import { FORWARDED_FOR_HEADER, type ForwardingKeys } from "@perdure/cloud/forwarding";
import type { EnvironmentRecord } from "@perdure/driver-postgres";
import type { TenancyPorts } from "../ports.js";

export type ProxiedEndpoint = Exclude<EnvironmentEndpoint, "tunnel">;

export interface GatewayAddress {
  /** Host name or address; `{region}` in it stands for the environment's region. */
  readonly host: string;
  readonly scheme: "http" | "https";
  readonly ports: Readonly<Record<ProxiedEndpoint, number>>;
}

export interface GatewayLink {
  /** Opens nothing before the request is written to. Throws `TypeError` for what cannot be the target of a request. */
  open(environment: EnvironmentRecord, endpoint: ProxiedEndpoint, request: LinkRequest): ClientRequest;
}

export interface LinkRequest {
  readonly method: string;
  /** Path with query, as it came. */
  readonly target: string;
  /** Names and values in turn; `host`, and for whom it is, are said here. */
  readonly headers: readonly string[];
  /** Of the browser, as its socket tells it. */
  readonly remoteAddress: string | undefined;
}

export interface GatewayLinkOptions {
  /** Undefined: by the environments' own addresses. */
  readonly at: GatewayAddress | undefined;
  /** PEM of who signed the gateway's certificate, if that is nobody public. */
  readonly authority?: string | undefined;
  /** Shared with gateways; without it they take all people for one address, ours. */
  readonly forwarding?: ForwardingKeys | undefined;
}

export function createGatewayLink(
  { addresses, clock }: Pick<TenancyPorts, "addresses" | "clock">,
  { at, authority, forwarding }: GatewayLinkOptions,
): GatewayLink {
  return {
    open(environment, endpoint, { method, target, headers, remoteAddress }) {
      const url = new URL(endpoint === "admin" ? addresses.adminUrl(environment) : addresses.ingressUrl(environment));
      const forWhom =
        forwarding === undefined || remoteAddress === undefined
          ? []
          : [FORWARDED_FOR_HEADER, forwarding.sign(remoteAddress, url.host, clock.nowMs())];
      const options: RequestOptions & { servername?: string; ca?: string } = {
        method,
        path: target,
        headers: ["host", url.host, ...forWhom, ...headers],
        host: at?.host.replaceAll("{region}", environment.region) ?? url.hostname,
        port: at?.ports[endpoint] ?? (url.port === "" ? undefined : url.port),
        // One connection for each request: a page has few, and one that is kept may be closed just when it is used.
        agent: false,
        setHost: false,
      };
      if (!isSecure(at?.scheme ?? url.protocol)) return httpRequest(options);
      options.servername = url.hostname; // The gateway holds it against the host.
      if (authority !== undefined) options.ca = authority;
      return httpsRequest(options);
    },
  };
}

function isSecure(scheme: string): boolean {
  return scheme === "https" || scheme === "https:";
}
