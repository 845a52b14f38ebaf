/**
 * Creates the namespace of an environment. A namespace that another owner has, that is in deletion, or that holds data of a deleted
 * environment is left alone.
 */
import { bareIdOf, ENVIRONMENT_LABEL, type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import type { KubernetesClient } from "@perdure/kubernetes";
import { type KubeObject, resources } from "@perdure/kubernetes";
import type { ObjectApplier } from "../applier.js";
import type { Cell } from "../cell.js";
import { ADOPT_ANNOTATION } from "../desired/labels.js";
import { namespaceOf, secretsBinding } from "../desired/namespace.js";
import { WAIT_REFERENCE_MS, WAIT_TERMINATING_MS } from "../limits.js";
import { bad, good, type StepOutcome } from "./outcome.js";
import { noteNameOf, type RetainedNote, type RetainedNotes } from "./retained-notes.js";
import type { SecretCopies } from "./secret-copies.js";

const TYPE = "NamespaceReady";

interface NamespacePorts {
  readonly client: KubernetesClient;
  readonly applier: ObjectApplier;
  readonly cell: Cell;
  /** Our copy of it. */
  readonly cached: KubeObject | undefined;
  readonly notes: Pick<RetainedNotes, "mayExist">;
  readonly secretCopies: Pick<SecretCopies, "noteNew">;
}

export async function ensureNamespace(
  environment: EnvironmentResource,
  ports: NamespacePorts,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const { client, applier, cell, secretCopies } = ports;
  const name = objectNameOf(environment.spec.environmentId);
  const note = await noteOf(environment, ports, signal);
  const isNew = ports.cached === undefined && note === undefined && (await applier.create(namespaceOf(environment), signal));
  if (isNew) {
    secretCopies.noteNew(name);
  } else {
    // The local copy has only our namespaces; an apply would take another owner's over.
    const existing = ports.cached ?? (await client.find(resources.namespaces, name, undefined, { signal }));
    const refused = refusedBy(existing, environment) ?? (await retainedData(environment, note, ports, signal));
    if (refused !== undefined) return refused;
    await applier.apply(namespaceOf(environment), signal);
  }
  const binding = secretsBinding(environment, cell);
  if (binding !== undefined) await applier.apply(binding, signal);
  return good(TYPE, "Ready");
}

/** Why the existing namespace cannot be this environment's now; undefined when it can. */
function refusedBy(existing: KubeObject | undefined, { spec }: EnvironmentResource): StepOutcome | undefined {
  if (existing === undefined) return undefined;
  const { name, labels, deletionTimestamp } = existing.metadata;
  if (labels?.[ENVIRONMENT_LABEL] !== bareIdOf(spec.environmentId)) {
    const message = `namespace ${name} exists and is not this environment's; nothing in it is touched`;
    return bad(TYPE, "NotOwned", message, WAIT_REFERENCE_MS);
  }
  if (deletionTimestamp === undefined) return undefined;
  return bad(TYPE, "Terminating", `namespace ${name} is being deleted`, WAIT_TERMINATING_MS);
}

/** The note about data of an earlier environment of this id; undefined when there is none, or when this environment has data by now. */
async function noteOf(
  environment: EnvironmentResource,
  { client, cell, notes }: NamespacePorts,
  signal: AbortSignal,
): Promise<RetainedNote | undefined> {
  if (environment.status?.data?.present === true || !notes.mayExist(environment)) return undefined;
  const note = await client.find<RetainedNote>(resources.configMaps, noteNameOf(environment), cell.namespace, { signal });
  const uid = note?.data?.uid;
  return uid !== undefined && uid !== environment.metadata.uid ? note : undefined;
}

/** Data of an earlier environment of this id is used only with explicit consent; checked until this environment has data. */
async function retainedData(
  environment: EnvironmentResource,
  note: RetainedNote | undefined,
  { client, cell }: NamespacePorts,
  signal: AbortSignal,
): Promise<StepOutcome | undefined> {
  const uid = note?.data?.uid;
  if (uid === undefined) return undefined;
  const noteName = noteNameOf(environment);
  const snapshotId = note?.data?.snapshotId;
  const isRestored = snapshotId !== undefined && environment.spec.backup?.restoreFrom?.snapshotId === snapshotId;
  if (!isRestored && environment.metadata.annotations?.[ADOPT_ANNOTATION] !== uid) {
    const how =
      snapshotId === undefined
        ? `annotate it with ${ADOPT_ANNOTATION}: "${uid}" to continue with them`
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
