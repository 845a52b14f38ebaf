/** Names of the objects of a hosted environment, and of its tunnel, which differs between clusters. */
import { API_GROUP, bareIdOf, type CloudEnvironment } from "@perdure/custom-resources";

/** Label of everything that the operator makes for a CloudEnvironment. Its value is the object's name. */
export const CLOUD_LABEL = `${API_GROUP}/cloud-environment`;

const UID_CHARS = 6;

/** Name of the Deployment, its Service and its policy. */
export const tunnelObjectName = (name: string): string => `tunnel-${name}`;

/** Unique within the environment: clients of one name share its load, and other clusters have other services. */
export function tunnelNameOf({ metadata }: CloudEnvironment): string {
  return `${metadata.name.replaceAll(".", "-")}-${(metadata.uid ?? "").slice(0, UID_CHARS)}`;
}

/** Pods that carry it may use the ports that a tunnel brings here. */
export const proxyLabelOf = ({ spec }: CloudEnvironment): string => `${API_GROUP}/proxy-${bareIdOf(spec.environmentId)}`;
