/**
 * Checks for objects that still need an operator. Our objects carry finalizers that only an operator removes, so an operator that is
 * uninstalled before them leaves them, and the namespaces of environments, in deletion for ever. The chart runs this check before it is
 * uninstalled (kubernetes.md §3.4).
 */
import { PerdureError } from "@perdure/base";
import { connectKubernetes, isNotFound, type KubernetesClient, type Resource, resources } from "@perdure/kubernetes";
import { runTask, type TaskSpec } from "@perdure/process-kit";
import { NAMES_IN_MESSAGE_MAX } from "../limits.js";
import { kubeconfigOf } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const KINDS: readonly Resource[] = [resources.environments, resources.serviceDeployments, resources.cloudEnvironments];

const spec: TaskSpec<typeof settings> = {
  program: "perdure operator check-leftovers",
  service: "operator",
  schema: settings,
  load: loadSettings,
  run: async (values, { logger }) => {
    await using client = connectKubernetes(kubeconfigOf(values));
    await refuseLeftovers(client);
    logger.info({}, "no object is left that needs the operator");
  },
};

/** `perdure-operator check-leftovers`, with the settings of the program. Resolves with the exit code. */
export const runLeftoverCheck = (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> =>
  runTask(spec, args, environment);

/** Rejects with OPS0006 when objects of ours exist; a kind that is not defined has none. */
async function refuseLeftovers(client: KubernetesClient): Promise<void> {
  const leftovers = (await Promise.all(KINDS.map((kind) => leftoversOf(client, kind)))).filter((text) => text !== undefined);
  if (leftovers.length === 0) return;
  throw new PerdureError("OPS0006", `${leftovers.join("; ")}: they would be left without their operator`);
}

async function leftoversOf(client: KubernetesClient, resource: Resource): Promise<string | undefined> {
  const names = await namesOf(client, resource);
  if (names.length === 0) return undefined;
  const more = names.length > NAMES_IN_MESSAGE_MAX ? ", …" : "";
  return `${names.length} ${resource.plural} (${names.slice(0, NAMES_IN_MESSAGE_MAX).join(", ")}${more})`;
}

async function namesOf(client: KubernetesClient, resource: Resource): Promise<string[]> {
  try {
    const { items } = await client.list(resource, { metadataOnly: true });
    return items.map(({ metadata }) => (metadata.namespace === undefined ? "" : `${metadata.namespace}/`) + metadata.name);
  } catch (cause) {
    if (isNotFound(cause)) return [];
    throw cause;
  }
}
