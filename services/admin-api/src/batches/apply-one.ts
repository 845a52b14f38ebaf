/**
 * Applies a batch's operation to one invocation, with the same functions as the single routes. When it is uncertain whether the operation
 * already took effect (after a crash, or when a partition became unavailable in the middle), the state is checked before it is applied
 * again.
 */

import type { BatchVerb } from "@perdure/admin-contract";
import type { DeploymentChoice } from "@perdure/admin-contract/requests";
import { type InvocationId, PerdureError, partitionOf } from "@perdure/base";
import { cancelSignalIndex, decodeNotification, isFault, MessageType } from "@perdure/service-protocol";
import type { Invocation, UndoMark } from "@perdure/state-machine";
import type { InsightSource } from "../insight/source.js";
import { applyVerb, restartAsNew, resume, type VerbOutcome } from "../invocation-operations.js";
import { undoOne } from "../operations/undo-one.js";
import type { AdminPorts } from "../ports.js";

export type OperationPorts = Pick<AdminPorts, "registry" | "partitions" | "clock" | "random"> & {
  readonly insight: InsightSource;
};

/** The operation of a batch. */
export interface BatchOperation {
  readonly verb: BatchVerb;
  readonly choice: DeploymentChoice | undefined;
  /** The operation that this is, or that `undo` reverts. */
  readonly undo?: UndoMark | undefined;
}

/** `newId` is the id of the new invocation when restarting. Rejects with PerdureError when the partition is unavailable. */
export function applyOne(
  ports: OperationPorts,
  { verb, choice, undo }: BatchOperation,
  id: InvocationId,
  newId: InvocationId | undefined,
): Promise<VerbOutcome> {
  if (verb === "resume") return resume(ports, id, choice ?? { kind: "keep" }, undo);
  if (verb === "restart-as-new") return restartAsNew(ports, id, 0, choice ?? { kind: "latest" }, { newId });
  if (verb === "undo")
    return undo === undefined ? Promise.resolve(NOTHING_TO_UNDO) : undoOne(ports, id, { id: undo.operation, subject: null });
  return applyVerb(ports, verb, id, undo);
}

const NOTHING_TO_UNDO: VerbOutcome = { status: 409, problem: "The batch names no operation", newId: undefined };

/**
 * The outcome if the operation took effect at or after `sinceMs`; undefined if not, or if applying it again changes nothing. The effect may
 * come from another client that did the same meanwhile; the outcome is the same.
 */
export async function alreadyDone(
  ports: OperationPorts,
  { verb }: BatchOperation,
  id: InvocationId,
  newId: InvocationId | undefined,
  sinceMs: number,
): Promise<VerbOutcome | undefined> {
  switch (verb) {
    case "cancel":
    case "kill": {
      const invocation = await ports.partitions.describe(id);
      if (invocation === undefined) return DONE; // The invocation existed when the batch began, so it has been purged.
      const isNotified = verb === "cancel" && (await wasCancelled(ports.insight, invocation, sinceMs));
      if (isNotified) return ACCEPTED;
      return isEndedBySince(invocation, verb, sinceMs) ? DONE : undefined;
    }
    case "purge":
      return (await ports.partitions.describe(id)) === undefined ? DONE : undefined;
    case "restart-as-new": {
      const copy = newId === undefined ? undefined : await ports.partitions.describe(newId);
      return copy === undefined ? undefined : { ...DONE, newId };
    }
    case "pause":
    case "resume":
    case "purge-journal":
    case "undo": // A repetition is recognised by the partition.
      return undefined;
  }
}

const DONE: VerbOutcome = { status: 200, problem: undefined, newId: undefined };
const ACCEPTED: VerbOutcome = { status: 202, problem: undefined, newId: undefined, isFinal: true };

/** One that ended by itself meanwhile was not killed or cancelled. Of a notified handler without a journal, that is unknown. */
function isEndedBySince(invocation: Invocation, verb: "cancel" | "kill", sinceMs: number): boolean {
  if (invocation.status !== "completed") return false;
  const { outcome, milestones, modifiedAtMs, journal } = invocation;
  const isByVerb = outcome.kind === "failure" && outcome.failure.code === ABORTED;
  const isUnknown = verb === "cancel" && journal.length === 0;
  return (isByVerb || isUnknown) && (milestones.completedAtMs ?? modifiedAtMs) >= sinceMs;
}

/** Code of the failures with which killed and cancelled invocations end. */
const ABORTED = 409;

/** A second signal to cancel would interrupt the handler while it cleans up after the first. */
async function wasCancelled(
  { store, partitionCount }: InsightSource,
  { facts, journal }: Invocation,
  sinceMs: number,
): Promise<boolean> {
  const entries = await store.readJournal(partitionOf(facts.id, partitionCount), facts.id, journal.length);
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index];
    if (entry === undefined || entry.appendedAtMs < sinceMs) return false;
    if (entry.type !== MessageType.Signal) continue;
    const signal = decodeNotification(entry.type, entry.body);
    if (!isFault(signal) && signal.id.kind === "signalIndex" && signal.id.index === cancelSignalIndex) return true;
  }
  return false;
}

/** Whether a retry may help. */
export function isUnavailable(cause: unknown): boolean {
  return cause instanceof PerdureError && cause.http === 503;
}
