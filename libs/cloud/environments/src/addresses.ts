/** Public addresses of environments, tunnels and the console: by host names or, on one machine without them, by ports (cloud.md §1.8). */
import { bareOf, environmentHost, tunnelHost } from "@perdure/cloud";
import type { EnvironmentRecord } from "@perdure/postgres";

interface AddressSettings {
  readonly domain: string;
  /** Scheme of host names: `https`, or `http` where nothing is encrypted. */
  readonly scheme: "https" | "http";
  /** Of all environments, at their host names. */
  readonly hostPorts: { readonly ingress: number; readonly admin: number };
  /** Instead of host names: two ports of this host for each environment, from `first` on. */
  readonly ports: { readonly host: string; readonly first: number } | undefined;
  /** Undefined: `https://tunnel.<region>.<domain>:9080`. */
  readonly proxyUrl: string | undefined;
  /** Undefined: `tunnel.<region>.<domain>`. */
  readonly tunnelSrv: string | undefined;
  /** Addresses for tunnel clients that need no SRV records; undefined: they resolve the records. */
  readonly tunnelServers?: readonly string[] | undefined;
  /** Origin of the console and of the login pages, without a slash at its end. */
  readonly consoleUrl: string;
}

export interface EnvironmentAddresses {
  /** Whether environments need slot numbers for their ports. */
  readonly usesSlots: boolean;
  ingressUrl(environment: Pick<EnvironmentRecord, "id" | "region" | "slot">): string;
  adminUrl(environment: Pick<EnvironmentRecord, "id" | "region" | "slot">): string;
  proxyUrl(region: string): string;
  tunnelSrv(region: string): string;
  readonly tunnelServers: readonly string[] | undefined;
  readonly consoleUrl: string;
}

export function createAddresses({
  domain,
  scheme,
  hostPorts,
  ports,
  proxyUrl,
  tunnelSrv,
  tunnelServers,
  consoleUrl,
}: AddressSettings): EnvironmentAddresses {
  const at = ({ id, region, slot }: Pick<EnvironmentRecord, "id" | "region" | "slot">, port: number, offset: number): string =>
    ports === undefined || slot === undefined
      ? `${scheme}://${environmentHost(bareOf(id), region, domain)}:${port}`
      : `http://${ports.host}:${ports.first + 2 * slot + offset}`;
  return {
    usesSlots: ports !== undefined,
    ingressUrl: (environment) => at(environment, hostPorts.ingress, 0),
    adminUrl: (environment) => at(environment, hostPorts.admin, 1),
    proxyUrl: (region) => proxyUrl ?? `https://${tunnelHost(region, domain)}:9080`,
    tunnelSrv: (region) => tunnelSrv ?? tunnelHost(region, domain),
    tunnelServers,
    consoleUrl,
  };
}
