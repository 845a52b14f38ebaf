/**
 * Port of stores that cannot return a row at once because the rows are behind a network. They return rows in batches, with one round
 * trip for all rows that a turn needs. The processor keeps the rows that it has fetched, and applying a command throws `NeedsLoad` when
 * the command reads a row that is missing. `rowsFor` predicts which rows a command reads, so that this is rare.
 */
import type { InvocationId, OperationId } from "@perdure/base";
import {
  type AppendCommand,
  DEBOUNCE_SERVICE,
  DEBOUNCE_STATE_KEY,
  debounceRowKey,
  type InboxEntry,
  type Invocation,
  isExclusive,
  isInFlight,
  isThrottleTimer,
  isWorkflowRun,
  type JournalEntry,
  keyspaceOf,
  LONG_JOURNAL_ENTRIES,
  type ObjectLock,
  type PartitionCommand,
  STATE_EXPIRY_ROW,
  STATE_TTL_SERVICE,
  stateExpiryId,
  type Target,
  THROTTLE_KEY_COUNT,
  THROTTLE_SERVICE,
  THROTTLE_STATE_KEY,
  type TimerKey,
  throttleRowId,
  type WorkflowPromise,
} from "@perdure/state-machine";
import { undoRecordKey } from "./codec/undo.js";
import type { PartitionStore, StoreCapabilities } from "./partition-store.js";

/** Names one row, or all rows of a journal, a state or a workflow's promises. Services are keyspaces (`keyspaceOf`). */
export type RowKey =
  | { readonly kind: "invocation"; readonly id: InvocationId }
  | { readonly kind: "entry"; readonly id: InvocationId; readonly index: number }
  /** All entries in their order. */
  | { readonly kind: "journal"; readonly id: InvocationId }
  | { readonly kind: "lock"; readonly service: string; readonly key: string }
  | { readonly kind: "inbox"; readonly service: string; readonly key: string; readonly seq: number }
  | { readonly kind: "state"; readonly service: string; readonly key: string; readonly stateKey: string }
  /** All state of a key in storage order (service protocol §3.4). */
  | { readonly kind: "stateOf"; readonly service: string; readonly key: string }
  | { readonly kind: "promise"; readonly service: string; readonly key: string; readonly name: string }
  /** All promises of a workflow key by name. */
  | { readonly kind: "promisesOf"; readonly service: string; readonly key: string }
  | { readonly kind: "hasTimer"; readonly timer: TimerKey }
  | { readonly kind: "dedup"; readonly producer: string };

/** The value of a row of each kind. */
export interface RowValues {
  readonly invocation: Invocation | undefined;
  readonly entry: JournalEntry | undefined;
  readonly journal: readonly JournalEntry[];
  readonly lock: ObjectLock | undefined;
  readonly inbox: InboxEntry | undefined;
  readonly state: Uint8Array | undefined;
  readonly stateOf: ReadonlyMap<string, Uint8Array>;
  readonly promise: WorkflowPromise | undefined;
  readonly promisesOf: ReadonlyMap<string, WorkflowPromise>;
  readonly hasTimer: boolean;
  readonly dedup: number | undefined;
}

/** A key with the value that was read; an absent row has the value that stands for absence. */
export type FetchedRow = {
  [K in RowKey["kind"]]: Extract<RowKey, { kind: K }> & { readonly value: RowValues[K] };
}[RowKey["kind"]];

/** One fetch reads one state of the partition or several that follow each other, never half a commit within one row. */
export interface BatchedReads {
  /**
   * Returns the rows in the order of their keys, in one round trip unless payloads are large. Rejects with STO0001 when the medium
   * fails.
   */
  fetch(partition: number, keys: readonly RowKey[]): Promise<readonly FetchedRow[]>;
}

/** The operations of every partition store, however its rows are read while commands are applied. */
export type AnyPartitionStore = Omit<PartitionStore, "reads" | "capabilities">;

/** A partition store without `SyncReads`. */
export interface AsyncPartitionStore extends AnyPartitionStore, BatchedReads {
  readonly capabilities: StoreCapabilities & { readonly syncReads: false };
}

/** The store from which an archive takes its records. */
export interface ArchivableStore extends AsyncPartitionStore {
  /** Returns ids of invocations that completed before a time, oldest first. */
  completedBefore(partition: number, beforeMs: number, limit: number): Promise<readonly InvocationId[]>;
}

/** Returns a text that two keys share exactly when they name the same rows. */
export function rowName(key: RowKey): string {
  switch (key.kind) {
    case "invocation":
    case "journal":
      return `${key.kind}/${key.id}`;
    case "entry":
      return `entry/${key.id}/${key.index}`;
    case "lock":
    case "stateOf":
    case "promisesOf":
      return `${key.kind}/${key.service}/${key.key}`;
    case "inbox":
      return `inbox/${key.seq}/${key.service}/${key.key}`;
    case "state":
      return `state/${key.service}/${key.key.length}:${key.key}/${key.stateKey}`;
    case "promise":
      return `promise/${key.service}/${key.key.length}:${key.key}/${key.name}`;
    case "hasTimer":
      return `hasTimer/${key.timer.dueAtMs}/${key.timer.kind}/${key.timer.id}/${key.timer.sequence}`;
    case "dedup":
      return `dedup/${key.producer}`;
  }
}

// ── rows that a command will read ────────────────────────────────────────────────────────────────

type RowsOf<C extends PartitionCommand> = (command: C, invocation: Invocation | undefined) => readonly RowKey[];

/**
 * Returns the rows that applying a command is certain to read, as far as the command and its invocation determine them. The caller
 * passes the invocation when it has it (it always has running ones). Other rows are read only on rare paths and requested with
 * `NeedsLoad`. A superfluous row costs a little time and never affects correctness.
 */
export function rowsFor(command: PartitionCommand, invocation?: Invocation): readonly RowKey[] {
  return (ROWS[command.kind] as RowsOf<PartitionCommand>)(command, invocation);
}

const itself: RowsOf<PartitionCommand> = ({ id }) => [{ kind: "invocation", id }];

const ROWS: { readonly [K in PartitionCommand["kind"]]: RowsOf<Extract<PartitionCommand, { kind: K }>> } = {
  invoke: ({ id, facts, resubmission, throttle }) => {
    const rows: RowKey[] = [];
    // As in the core: a random id that is submitted for the first time cannot exist yet.
    const mayExist = facts.idempotencyKey !== undefined || resubmission === true || isWorkflowRun(facts.target);
    if (mayExist) rows.push({ kind: "invocation", id });
    if (facts.executionTimeMs === undefined) rows.push(...lockOf(facts.target));
    if (facts.debounce !== undefined) rows.push(burstRow(facts.target, facts.debounce.key));
    if (throttle !== undefined) rows.push(throttleRow(throttleRowId(facts.target, throttle.key)), THROTTLE_KEY_COUNT_ROW);
    return rows;
  },
  attach: itself,
  queryOutput: itself,
  notify: itself,
  signal: itself,
  pin: itself,
  slotWaited: itself,
  proposeRun: itself,
  cancel: itself,
  pause: itself,
  resume: itself,
  purgeJournal: itself,
  undo: (command, invocation) => [...itself(command, invocation), recordOf(command)],
  expireUndo: () => [],
  admit: itself,
  // Buckets and paused queues are few: a leader has all of them in memory.
  deleteBuckets: () => [],
  pauseQueue: () => [],
  resumeQueue: () => [],
  appendCommand: (command, invocation) => [...itself(command, invocation), ...rowsOfAction(command, invocation)],
  suspend: (command, invocation) => {
    const rows = [...itself(command, invocation)];
    if (invocation === undefined || command.satisfied) return rows;
    // Notifications that arrived during the suspension are read from the newest entry back.
    const { length, notifications } = invocation.journal;
    for (let index = Math.max(0, length - (notifications - command.receivedNotificationCount)); index < length; index++)
      rows.push({ kind: "entry", id: command.id, index });
    return rows;
  },
  end: (command, invocation) => {
    const rows = [...itself(command, invocation)];
    if (invocation === undefined) return rows;
    // Without Output yet: it is in a command before the end, and will be applied by then.
    if (command.output === undefined && invocation.journal.outputIndex >= 0)
      rows.push({ kind: "entry", id: command.id, index: invocation.journal.outputIndex });
    return rows.concat(rowsOfCompletion(invocation));
  },
  attemptFailed: (command, invocation) => [
    ...itself(command, invocation),
    ...(invocation !== undefined && command.then === "kill" ? rowsOfCompletion(invocation) : []),
  ],
  kill: (command, invocation) => {
    const rows = [...itself(command, invocation)];
    if (!isInFlight(invocation)) return rows;
    // The invocations that it called are killed with it. A long journal is loaded when it is needed.
    if (invocation.journal.length < LONG_JOURNAL_ENTRIES) rows.push({ kind: "journal", id: command.id });
    return rows.concat(rowsOfCompletion(invocation));
  },
  timerFired: (command, invocation) => {
    if (isThrottleTimer(command.timer))
      return [{ kind: "hasTimer", timer: command.timer }, throttleRow(command.id), THROTTLE_KEY_COUNT_ROW];
    if (command.timer.kind === "expireState") return [{ kind: "hasTimer", timer: command.timer }, expiryRow(command.id)];
    const rows: RowKey[] = [{ kind: "hasTimer", timer: command.timer }, ...itself(command, invocation)];
    if (invocation === undefined) return rows;
    if (command.timer.kind === "start") rows.push(...lockOf(invocation.facts.target));
    if (command.timer.kind === "purge") rows.push(...rowsOfForgetting(invocation));
    return rows;
  },
  restartAsNew: (command, invocation) => [
    ...itself(command, invocation),
    { kind: "invocation", id: command.newId },
    { kind: "journal", id: command.id },
  ],
  purge: (command, invocation) => [
    ...itself(command, invocation),
    ...(invocation === undefined ? [] : rowsOfForgetting(invocation)),
  ],
  setStateTtl: ({ service, key }) => [expiryRow(stateExpiryId(service, key))],
  mutateState: ({ service, key, exclusive }) => {
    const state: RowKey = { kind: "stateOf", service, key };
    return exclusive ? [{ kind: "lock", service, key }, state] : [state];
  },
};

function recordOf({ id, operation }: { readonly id: InvocationId; readonly operation: OperationId }): RowKey {
  return { kind: "state", ...undoRecordKey(id, operation) };
}

function expiryRow(id: InvocationId): RowKey {
  return { kind: "state", service: STATE_TTL_SERVICE, key: id, stateKey: STATE_EXPIRY_ROW };
}

function throttleRow(id: InvocationId): RowKey {
  return { kind: "state", service: THROTTLE_SERVICE, key: id, stateKey: THROTTLE_STATE_KEY };
}

const THROTTLE_KEY_COUNT_ROW: RowKey = { kind: "state", ...THROTTLE_KEY_COUNT };

function lockOf(target: Target): readonly RowKey[] {
  return isExclusive(target) ? [{ kind: "lock", service: keyspaceOf(target), key: target.key }] : [];
}

/** The lock passes to the next entry; without retention, the rows of a workflow are deleted too. */
function rowsOfCompletion(invocation: Invocation): readonly RowKey[] {
  const { target, completionRetentionMs } = invocation.facts;
  return completionRetentionMs > 0 ? lockOf(target) : [...lockOf(target), ...rowsOfForgetting(invocation)];
}

function burstRow(target: Target, debounceKey: string): RowKey {
  return { kind: "state", service: DEBOUNCE_SERVICE, key: debounceRowKey(target, debounceKey), stateKey: DEBOUNCE_STATE_KEY };
}

function rowsOfForgetting({ facts: { target, debounce } }: Invocation): readonly RowKey[] {
  if (debounce !== undefined) return [burstRow(target, debounce.key)]; // Workflows cannot be debounced.
  if (!isWorkflowRun(target)) return [];
  const service = keyspaceOf(target);
  return [
    { kind: "stateOf", service, key: target.key },
    { kind: "promisesOf", service, key: target.key },
  ];
}

function rowsOfAction({ action }: AppendCommand, invocation: Invocation | undefined): readonly RowKey[] {
  if (invocation === undefined) return [];
  const { target } = invocation.facts;
  const service = keyspaceOf(target);
  const key = target.key ?? "";
  switch (action.kind) {
    case "clearAllState":
    case "getLazyStateKeys":
      return [{ kind: "stateOf", service, key }];
    case "getLazyState":
      return [{ kind: "state", service, key, stateKey: action.key }];
    case "getPromise":
    case "peekPromise":
    case "completePromise":
      return [{ kind: "promise", service, key, name: action.key }];
    default:
      return []; // Every other command reads only its invocation.
  }
}
