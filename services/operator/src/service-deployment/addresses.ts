/** Addresses inside a cluster, and from a hosted environment through a tunnel. Test suites pass their own. */
import { bareIdOf, type CloudEnvironment, objectNameOf } from "@perdure/custom-resources";
import type { Cell } from "../cell.js";
import { tunnelNameOf } from "../cloud-environment/names.js";
import { SERVICE_PORT } from "./desired.js";
import type { RegisterTarget } from "./version.js";

/** One version of a service: its Service and its namespace. */
export interface VersionLocation {
  readonly name: string;
  readonly namespace: string;
}

/** URLs without a slash at the end. */
export interface OperatorAddresses {
  /** Address of an environment's management API. */
  adminOfEnvironment(environmentId: string): string;
  adminOfCloud(cloud: CloudEnvironment): string;
  adminOfService(service: NonNullable<RegisterTarget["service"]>): string;
  /** Address of a version, for runtimes in this cluster. */
  endpoint(place: VersionLocation): string;
  /** Address of a version through the tunnel of this cluster, or through the one that its pods open. */
  tunnelled(cloud: CloudEnvironment, place: VersionLocation): string;
  inProcess(cloud: CloudEnvironment, place: VersionLocation): string;
}

export function addressesOf({ clusterDns, domain }: Pick<Cell, "clusterDns" | "domain">): OperatorAddresses {
  const hostOf = ({ name, namespace }: VersionLocation): string => `${name}.${namespace}.svc.${clusterDns}`;
  // The path of a relay's proxy (cloud.md §2.6).
  const behind = ({ spec }: CloudEnvironment, tunnel: string, host: string): string =>
    `https://tunnel.${spec.region}.${domain}:9080/${bareIdOf(spec.environmentId)}/${tunnel}/http/${host}/${SERVICE_PORT}`;
  return {
    adminOfEnvironment: (id) => `http://${hostOf({ name: "runtime", namespace: objectNameOf(id) })}:9070`,
    adminOfCloud: ({ spec }) => `https://${bareIdOf(spec.environmentId)}.env.${spec.region}.${domain}:9070`,
    adminOfService: ({ namespace, name, port, path }) =>
      `http://${hostOf({ name, namespace })}:${port}${path.replace(/\/+$/, "").replace(/^(?=[^/])/, "/")}`,
    endpoint: (place) => `http://${hostOf(place)}:${SERVICE_PORT}`,
    tunnelled: (cloud, place) => behind(cloud, tunnelNameOf(cloud), hostOf(place)),
    inProcess: (cloud, { name }) => behind(cloud, name, "in-process"),
  };
}
