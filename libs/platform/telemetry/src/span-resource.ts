/**
 * The resource of spans distinguishes programs, environments and runs of a process in the collector, by OpenTelemetry's semantic
 * conventions.
 */
import { randomUUID } from "node:crypto";
import { RESOURCE_ATTRIBUTES_MAX, RESOURCE_VALUE_CHARS_MAX } from "./limits.js";
import { VERSION } from "./version.js";

interface ResourceFacts {
  /** Name of the program. */
  readonly service: string;
  readonly clusterName: string;
  readonly nodeName: string;
  /** Name of the environment that the process belongs to, if any. */
  readonly environmentName?: string | undefined;
}

/**
 * Attributes of a process's resource. `OTEL_RESOURCE_ATTRIBUTES` of the environment adds attributes, such as the namespace and pod of
 * Kubernetes, but does not replace the ones set here.
 */
export function resourceAttributes(facts: ResourceFacts, variables: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const { service, clusterName, nodeName } = facts;
  // Processes of a runtime without a setting for its environment have the environment's id as the name of their cluster.
  const environment = facts.environmentName ?? (clusterName.startsWith("env_") ? clusterName : undefined);
  return {
    ...givenAttributes(variables["OTEL_RESOURCE_ATTRIBUTES"]),
    "service.name": service,
    "service.namespace": clusterName,
    "service.version": VERSION,
    // Unique per run of the process: names of nodes are chosen, and five roles on one machine may have one name.
    "service.instance.id": randomUUID(),
    "perdure.node.name": nodeName,
    ...(environment === undefined ? {} : { "perdure.environment.id": environment }),
  };
}

/** `key=value,key=value` with percent-encoded values, as OpenTelemetry's specification has it; what cannot be read is left out. */
function givenAttributes(text: string | undefined): Record<string, string> {
  const pairs = (text ?? "").split(",").slice(0, RESOURCE_ATTRIBUTES_MAX);
  return Object.fromEntries(
    pairs.flatMap((pair) => {
      const [, key, encoded = ""] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
      if (key === undefined || encoded.length > RESOURCE_VALUE_CHARS_MAX) return [];
      try {
        return [[key, decodeURIComponent(encoded)]];
      } catch {
        return [];
      }
    }),
  );
}
