/** Begins the leadership of the partitions of a group: fences former leaders, restores what is stored, and continues what was running. */
import { PerdureError, present } from "@perdure/base";
import type { Invocation } from "@perdure/state-machine";
import { newPopulation, type PartitionStore, UNDO_NOTES } from "@perdure/storage";
import { readArchiveNotes } from "./archive/archive-notes.js";
import { LeaderPartition } from "./leader-partition.js";
import { Outbox } from "./outbox/outbox.js";
import type { PartitionGroup } from "./partition-group.js";
import { StoredUndo } from "./undo/stored-undo.js";
import { LiveView } from "./view/live-view.js";
import { RowCache } from "./view/row-cache.js";

/** Resolves when the partitions work. Rejects with STO0002 when the group was closed meanwhile. */
export async function takeOver(group: PartitionGroup): Promise<void> {
  const { ports, options, invoker } = group;
  const { isSuspended = false, isHandedOver = false } = options;
  const running: Invocation[] = [];
  // All at once: an embedded store combines them into one synced write.
  const epochs = await Promise.all(options.partitions.map((partition) => ports.store.claim(partition)));
  for (const [index, partition] of options.partitions.entries()) {
    const leader = await recoverPartition(group, partition, present(epochs[index]), running);
    if (!isSuspended) await leader.outbox.recover();
  }
  if (isSuspended) return;
  requireLead(group); // Reading takes time; a processor that lost the leadership meanwhile must run no handlers.
  if (running.length > 0) ports.logger.info({ count: running.length }, "resuming invocations that were running");
  for (const invocation of running) {
    if (invocation.status !== "invoked") continue;
    invoker.startRun({ kind: "startRun", invocation, firstEntries: undefined, isRecovered: !isHandedOver });
  }
  await group.timers.start();
  requireLead(group);
  group.flow.begin();
}

/** Adds the invocations that were running to `running`. */
async function recoverPartition(
  group: PartitionGroup,
  partition: number,
  epoch: number,
  running: Invocation[],
): Promise<LeaderPartition> {
  const { store } = group.ports;
  const cache = "reads" in store ? undefined : new RowCache(partition, store);
  const view = new LiveView(partition, cache ?? (store as PartitionStore).reads, group.counters.traffic);
  const { undoBytesMax = 0, throttleKeysMax } = group.options;
  if (throttleKeysMax !== undefined) view.throttleKeysMax = throttleKeysMax;
  const notes = await store.stateOf(partition, UNDO_NOTES.service, UNDO_NOTES.key);
  // Where undo is off now, the records of former leaders have to be deleted.
  if (undoBytesMax > 0 || notes.size > 0) {
    const undoOptions = { bytesMax: undoBytesMax, keepsPurged: group.archive === undefined, counters: group.counters };
    view.undo = new StoredUndo(view, view.log, notes, undoOptions);
  }
  const archived = group.archive === undefined ? undefined : await readArchiveNotes(store, partition);
  view.eventSubscriptions = group.events.current;
  const stored = await store.flow(partition);
  const flow = group.flow.restore(view, stored);
  view.stateTtls.source = group.ports.stateTtls;
  if (stored.stateTtls !== undefined) view.stateTtls.restore(stored.stateTtls);
  const outbox = new Outbox(group, partition, epoch);
  const leader = new LeaderPartition({ partition, epoch, view, cache, outbox, flow, archived });
  leader.nextDueAtMs.state = view.stateTtls.dueFromMs;
  group.leaders.add(leader);
  void group.archive?.learnIds(leader);
  const counted = newPopulation();
  for await (const invocation of store.recoverable(partition, counted)) {
    group.flow.recover(leader, invocation);
    if (invocation.status !== "invoked") continue;
    view.remember(invocation);
    running.push(invocation);
  }
  view.populationCounters.begin(counted);
  return leader;
}

function requireLead(group: PartitionGroup): void {
  if (group.isClosed) throw new PerdureError("STO0002", "leadership was lost during its start");
}
