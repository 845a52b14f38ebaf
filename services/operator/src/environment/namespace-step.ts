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
import type { SecretCopies } from "./secret-copies.js";
import { noteNameOf } from "./teardown.js";

const TYPE = "NamespaceReady";

interface NamespacePorts {
  readonly client: KubernetesClient;
  readonly applier: Applier;
  readonly cell: Cell;
  /** Our copy of it. */
  readonly cached: KubeObject | undefined;
  readonly notes: RetainedNotes;
  readonly secretCopies: Pick<SecretCopies, "noteNew">;
}

/** Environments of which it is known that no earlier one of their id left a note: only a deletion writes one, and the earlier one's is over. */
export class RetainedNotes {
  /** Uids by name. */
  readonly #without = new Map<string, string>();

  isWithout({ metadata: { name, uid } }: Environment): boolean {
    return uid !== undefined && this.#without.get(name) === uid;
  }

  noteWithout({ metadata: { name, uid } }: Environment): void {
    if (uid !== undefined) this.#without.set(name, uid);
  }

  forget(name: string): void {
    this.#without.delete(name);
  }
}

export async function ensureNamespace(environment: Environment, ports: NamespacePorts, signal: AbortSignal): Promise<Outcome> {
  const { client, applier, cell, secretCopies } = ports;
  const name = objectNameOf(environment.spec.environmentId);
  const note = await noteOf(environment, ports, signal);
  const isNew = ports.cached === undefined && note === undefined && (await applier.create(namespaceOf(environment), signal));
  if (isNew) {
    secretCopies.noteNew(name);
  } else {
    // Only ours are in the copy; somebody else's would be taken over by an apply.
    const found = ports.cached ?? (await client.find(resources.namespaces, name, undefined, { signal }));
    const refused = refusedBy(found, environment) ?? (await retainedData(environment, note, ports, signal));
    if (refused !== undefined) return refused;
    await applier.apply(namespaceOf(environment), signal);
  }
  const binding = secretsBinding(environment, cell);
  if (binding !== undefined) await applier.apply(binding, signal);
  return good(TYPE, "Ready");
}

/** Why the namespace that is there cannot be this environment's now. */
function refusedBy(found: KubeObject | undefined, { spec }: Environment): Outcome | undefined {
  if (found === undefined) return undefined;
  const { name, labels, deletionTimestamp } = found.metadata;
  if (labels?.[ENVIRONMENT_LABEL] !== bareIdOf(spec.environmentId)) {
    const message = `namespace ${name} exists and is not this environment's; nothing in it is touched`;
    return bad(TYPE, "NotOwned", message, WAIT_REFERENCE_MS);
  }
  if (deletionTimestamp === undefined) return undefined;
  return bad(TYPE, "Terminating", `namespace ${name} is going`, WAIT_TERMINATING_MS);
}

interface Note extends KubeObject {
  readonly data?: { readonly uid?: string; readonly snapshotId?: string };
}

/** What an earlier environment of this id left; undefined when there is nothing, or data of this one by now. */
async function noteOf(
  environment: Environment,
  { client, cell, notes }: NamespacePorts,
  signal: AbortSignal,
): Promise<Note | undefined> {
  if (environment.status?.data?.present === true || notes.isWithout(environment)) return undefined;
  const note = await client.find<Note>(resources.configMaps, noteNameOf(environment), cell.namespace, { signal });
  const uid = note?.data?.uid;
  if (uid !== undefined && uid !== environment.metadata.uid) return note;
  notes.noteWithout(environment);
  return undefined;
}

/** Data of an earlier environment of this id is taken over only on purpose; looked at until there is data of this one. */
async function retainedData(
  environment: Environment,
  note: Note | undefined,
  { client, cell }: NamespacePorts,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const uid = note?.data?.uid;
  if (uid === undefined) return undefined;
  const noteName = noteNameOf(environment);
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
