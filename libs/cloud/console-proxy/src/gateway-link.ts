/**
 * Sends requests of the console to environments through the gateway, which decides on roles, rates, audit and waking up as for every other
 * client. Host names of environments may not resolve here, so the real address of gateways can be configured.
 */
import { type ClientRequest, request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { EnvironmentEndpoint } from "@perdure/cloud";
import { FORWARDED_FOR_HEADER, type ForwardingKeys } from "@perdure/cloud/forwarding";
import type { TenancyPorts } from "@perdure/cloud-api";
import type { EnvironmentRecord } from "@perdure/postgres";

export type ProxiedEndpoint = Exclude<EnvironmentEndpoint, "tunnel">;

export interface GatewayAddress {
  /** Host name or address; `{region}` in it stands for the environment's region. */
  readonly host: string;
  readonly scheme: "http" | "https";
  readonly ports: Readonly<Record<ProxiedEndpoint, number>>;
}

export interface GatewayLink {
  /** Connects when the request is first written to. Throws `TypeError` for an invalid target of a request. */
  open(environment: EnvironmentRecord, endpoint: ProxiedEndpoint, request: LinkRequest): ClientRequest;
}

interface LinkRequest {
  readonly method: string;
  /** Path with query, as received. */
  readonly target: string;
  /** Names and values in turn; `host` and the client address are added here. */
  readonly headers: readonly string[];
  /** Address of the browser, as its socket reports it. */
  readonly remoteAddress: string | undefined;
}

interface GatewayLinkOptions {
  /** Undefined: by the environments' own addresses. */
  readonly at: GatewayAddress | undefined;
  /** PEM of the authority of the gateway's certificate, if it is not a public one. */
  readonly authority?: string | undefined;
  /** Keys shared with gateways; without them, gateways count all users of the console as tenancy's address. */
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
        // One connection for each request: a page has few, and a reused one may be closed just when it is used.
        agent: false,
        setHost: false,
      };
      if (!isSecure(at?.scheme ?? url.protocol)) return httpRequest(options);
      options.servername = url.hostname; // The gateway compares it with the host.
      if (authority !== undefined) options.ca = authority;
      return httpsRequest(options);
    },
  };
}

function isSecure(scheme: string): boolean {
  return scheme === "https" || scheme === "https:";
}
