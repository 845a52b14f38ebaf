/** Why: a namespace may be somebody else's, may be going, or may hold data of an environment that was deleted: then it is left alone. */
import { bareIdOf, ENVIRONMENT_LABEL, type Environment, objectNameOf } from "@perdure/custom-resources";
import type { KubernetesClient } from "@perdure/driver-kubernetes";
import { type KubeObject, resources } from "@perdure/driver-kubernetes";
import type { Applier } from "../applier.js";
import type { Cell } from "../cell.js";
import { ADOPT_ANNOTATION } from "../desired/labels.js";
import { namespaceOf, secretsBinding } from "../desired/namespace.js";
import { WAIT_REFERENCE_MS, WAIT_TERMINATING_MS } from "../limits.js";
import { bad, good, type Outcome } from "./outcome.js";
import { noteNameOf } from "./teardown.js";

const TYPE = "NamespaceReady";

interface NamespacePorts {
  readonly client: KubernetesClient;
  readonly applier: Applier;
  readonly cell: Cell;
  /** Our copy of it. */
  readonly cached: KubeObject | undefined;
}

export async function ensureNamespace(environment: Environment, ports: NamespacePorts, signal: AbortSignal): Promise<Outcome> {
  const { client, applier, cell } = ports;
  const name = objectNameOf(environment.spec.environmentId);
  // Only ours are in the copy; somebody else's would be taken over by an apply.
  const found = ports.cached ?? (await client.find(resources.namespaces, name, undefined, { signal }));
  if (found !== undefined) {
    const { labels, deletionTimestamp } = found.metadata;
    const owner = labels?.[ENVIRONMENT_LABEL];
    if (owner !== bareIdOf(environment.spec.environmentId)) {
      return bad(
        TYPE,
        "NotOwned",
        `namespace ${name} exists and is not this environment's; nothing in it is touched`,
        WAIT_REFERENCE_MS,
      );
    }
    if (deletionTimestamp !== undefined) return bad(TYPE, "Terminating", `namespace ${name} is going`, WAIT_TERMINATING_MS);
  }
  const refused = await retainedData(environment, ports, signal);
  if (refused !== undefined) return refused;
  await applier.apply(namespaceOf(environment), signal);
  const binding = secretsBinding(environment, cell);
  if (binding !== undefined) await applier.apply(binding, signal);
  return good(TYPE, "Ready");
}

/** Data of an earlier environment of this id is taken over only on purpose; looked at until there is data of this one. */
async function retainedData(
  environment: Environment,
  { client, cell }: NamespacePorts,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  if (environment.status?.data?.present === true) return undefined;
  const noteName = noteNameOf(environment);
  const note = await client.find<KubeObject & { readonly data?: { readonly uid?: string; readonly snapshotId?: string } }>(
    resources.configMaps,
    noteName,
    cell.namespace,
    { signal },
  );
  const uid = note?.data?.uid;
  if (uid === undefined || uid === environment.metadata.uid) return undefined;
  const snapshotId = note?.data?.snapshotId;
  const isRestored = snapshotId !== undefined && environment.spec.backup?.restoreFrom?.snapshotId === snapshotId;
  if (!isRestored && environment.metadata.annotations?.[ADOPT_ANNOTATION] !== uid) {
    const how =
      snapshotId === undefined
        ? `annotate it with ${ADOPT_ANNOTATION}: "${uid}" to go on with them`
        : `begin from it with backup.restoreFrom.snapshotId: "${snapshotId}", or without it with ${ADOPT_ANNOTATION}: "${uid}"`;
    return bad(TYPE, "RetainedData", `an earlier environment of this id left data behind; ${how}`, WAIT_REFERENCE_MS);
  }
  const { uid: noteUid } = note?.metadata ?? {};
  await client.delete(
    resources.configMaps,
    noteName,
    cell.namespace,
    noteUid === undefined ? { signal } : { uid: noteUid, signal },
  );
  return undefined;
}
