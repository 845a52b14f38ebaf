/**
 * The rows that a turn or a single command needs before it can be applied. With a local store nothing is loaded before a turn; behind a
 * network, the rows that the queued messages are certain to read are fetched in one round trip.
 */
import { unreachable } from "@perdure/base";
import type { LoadRequest } from "@perdure/state-machine";
import { type AnyPartitionStore, type RowKey, rowName, rowsFor } from "@perdure/storage";
import type { LeaderPartition } from "../leader-partition.js";
import { TURN_COMMANDS_MAX } from "../limits.js";
import type { PartitionGroup } from "../partition-group.js";
import type { Loaded } from "../view/loaded-rows.js";
import type { RowCache } from "../view/row-cache.js";
import type { MailboxMessage } from "./mailbox-message.js";

/**
 * Begins to fetch the rows that the next turn will read; returns nothing when all are in memory. `requested` contains the names of rows
 * that were fetched for this turn before, so that none is fetched twice; it is cleared when the turn has all of its rows.
 */
export function fetchForTurn(group: PartitionGroup, requested: Set<string>): readonly Promise<void>[] {
  const fetches: Promise<void>[] = [];
  for (const leader of group.leaders.values()) {
    if (leader.cache === undefined) return fetches;
    const missing = missingRows(group, leader, leader.cache, requested);
    if (missing.length > 0) fetches.push(leader.cache.fetch(missing));
  }
  if (fetches.length === 0 && requested.size > 0) requested.clear();
  return fetches;
}

/** Returns the rows that the messages are certain to read and that are neither applied, nor cached, nor requested; requests them. */
function missingRows(group: PartitionGroup, leader: LeaderPartition, cache: RowCache, requested: Set<string>): RowKey[] {
  const missing: RowKey[] = [];
  let count = 0;
  for (const message of group.mailbox) {
    if (++count > TURN_COMMANDS_MAX) break;
    if (group.leaderOf(message) !== leader) continue;
    for (const key of rowsOf(message, leader, cache)) {
      // Whole states and promises are loaded by `NeedsLoad` instead.
      if (key.kind === "stateOf" || key.kind === "promisesOf" || leader.view.hasApplied(key) || cache.has(key)) continue;
      const name = rowName(key);
      if (requested.has(name)) continue;
      requested.add(name);
      missing.push(key);
    }
  }
  return missing;
}

function rowsOf(message: MailboxMessage, leader: LeaderPartition, cache: RowCache): readonly RowKey[] {
  switch (message.kind) {
    case "evict":
      return message.records.map(({ id }) => ({ kind: "invocation", id }));
    case "inspect":
      return [{ kind: "invocation", id: message.id }];
    case "command":
    case "delivery": {
      const { command } = message;
      const rows = rowsFor(command, leader.view.appliedInvocation(command.id) ?? cache.peekInvocation(command.id));
      return message.kind === "delivery" ? [{ kind: "dedup", producer: message.producer }, ...rows] : rows;
    }
    default:
      return NO_KEYS;
  }
}

const NO_KEYS: readonly RowKey[] = [];

/** Reads all rows of a kind. */
export async function readWhole(store: AnyPartitionStore, partition: number, request: LoadRequest): Promise<Loaded> {
  switch (request.kind) {
    case "stateOf":
      return { ...NO_ROWS, request, state: await store.stateOf(partition, request.service, request.key) };
    case "promisesOf":
      return { ...NO_ROWS, request, names: await store.promisesOf(partition, request.service, request.key) };
    case "journalOf":
      return { ...NO_ROWS, request, entries: await store.readJournal(partition, request.id, request.length) };
    default:
      return unreachable(request);
  }
}

const NO_ROWS: Omit<Loaded, "request"> = { state: new Map(), names: [], entries: [] };
