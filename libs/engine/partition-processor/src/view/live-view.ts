/**
 * The state of a partition in its leader: the stored rows, overlaid with everything applied since. Transitions read it
 * (`PartitionView`) and write to it (`Transition`); a command that must be applied again is undone completely.
 */
import { type InvocationId, unreachable, type VqueueId } from "@perdure/base";
import { RuleBook } from "@perdure/flow-control";
import {
  type Effect,
  type EventSubscription,
  type InboxEntry,
  type Invocation,
  type JournalEntry,
  LONG_JOURNAL_ENTRIES,
  type Mutation,
  NeedsLoad,
  type ObjectLock,
  type PartitionCommand,
  type PartitionView,
  type QueuePause,
  queueOfScope,
  type Target,
  THROTTLE_KEYS_MAX,
  type TimerKey,
  type Transition,
  type WorkflowPromise,
} from "@perdure/state-machine";
import { type RowKey, type SyncReads, timerGroupOf } from "@perdure/storage";
import { CommandTraffic } from "../traffic/command-traffic.js";
import { TrafficCounters } from "../traffic/traffic-counters.js";
import type { StoredUndo } from "../undo/stored-undo.js";
import { type Accepted, NO_MUTATIONS, NOTHING_CAUSED } from "./accepted.js";
import { LiveStateTtls } from "./live-state-ttls.js";
import { type Loaded, LoadedRows } from "./loaded-rows.js";
import { overlaidNames, overlaidState } from "./overlaid.js";
import { Overlay, UndoLog } from "./overlay.js";
import { PopulationCounters } from "./population-counters.js";
import { objectName, stateName, timerName } from "./row-names.js";
import { WholeStates } from "./whole-states.js";

const MUTATION_BYTES = 256; // Approximate bytes of a mutation in memory beside its payload.

export class LiveView implements PartitionView, Transition {
  nowMs = 0;
  rules = RuleBook.EMPTY;
  eventSubscriptions: readonly EventSubscription[] | undefined;
  readonly stateTtls = new LiveStateTtls();
  pausedQueueCount = 0;
  throttleKeysMax = THROTTLE_KEYS_MAX;
  readonly partition: number;
  /** Counts everything that was applied, durable or not. */
  readonly populationCounters = new PopulationCounters();
  readonly #traffic: CommandTraffic;
  /** Each invocation that the present command has read, as it is stored. */
  #stored = new Map<InvocationId, Invocation>();
  readonly #reads: SyncReads;
  /** Reverts the present command. */
  readonly log = new UndoLog();
  undo: StoredUndo | undefined = undefined;
  readonly #invocations = new Overlay<Invocation>(this.log);
  readonly #entries = new Overlay<JournalEntry>(this.log);
  readonly #locks = new Overlay<ObjectLock>(this.log);
  readonly #inboxes = new Overlay<InboxEntry>(this.log);
  readonly #state = new Overlay<Uint8Array>(this.log);
  readonly #promises = new Overlay<WorkflowPromise>(this.log);
  readonly #timers = new Overlay<true>(this.log);
  readonly #dedup = new Overlay<number>(this.log);
  readonly #pauses = new Overlay<QueuePause>(this.log);
  readonly #tables: readonly Overlay<unknown>[] = [
    this.#invocations,
    this.#entries,
    this.#locks,
    this.#inboxes,
    this.#state,
    this.#promises,
    this.#timers,
    this.#dedup,
    this.#pauses,
  ] as readonly Overlay<unknown>[];

  /** Running invocations as they are durable; kept because their attempts send commands all the time. */
  #running = new Map<string, Invocation>();
  /** All durable pauses: their number is bounded. */
  readonly #durablePauses = new Map<VqueueId, QueuePause>();
  /** `pausedQueueCount` at the last command boundary. */
  #pausedQueueMark = 0;
  /** Durable whole states, for the next attempt on a key. */
  readonly states = new WholeStates();
  /** Valid until the next commit of this partition. */
  readonly #loaded = new LoadedRows();
  /** Lists are made with their first item, for the reason given at `Overlay`. */
  #mutations: Mutation[] | undefined;
  #mutationBytes = 0;
  #effects: Effect[] | undefined;
  #sent: PartitionCommand[] | undefined;
  /** Lengths at the last command boundary, to undo a command. */
  #mutationMark = 0;

  constructor(partition: number, reads: SyncReads, traffic = new TrafficCounters()) {
    this.partition = partition;
    this.#reads = reads;
    this.#traffic = new CommandTraffic(traffic);
  }

  // ── PartitionView ──────────────────────────────────────────────────────────────────────────────

  invocation(id: InvocationId): Invocation | undefined {
    const applied = this.#invocations.get(id);
    if (applied !== undefined) return applied ?? undefined;
    const running = this.#running.get(id);
    if (running !== undefined) return running;
    const stored = this.#reads.invocation(this.partition, id);
    if (stored !== undefined) this.#stored.set(id, stored);
    return stored;
  }

  entry(id: InvocationId, index: number): JournalEntry | undefined {
    const applied = this.#entries.get(`${id}${index}`);
    if (applied !== undefined) return applied ?? undefined;
    return this.#reads.entry(this.partition, id, index);
  }

  journalOf(id: InvocationId, length: number): readonly (JournalEntry | undefined)[] {
    if (length < LONG_JOURNAL_ENTRIES) return Array.from({ length }, (_, index) => this.entry(id, index));
    const loaded = this.#loaded.journalOf(id, length);
    if (loaded !== undefined) return loaded;
    throw new NeedsLoad({ kind: "journalOf", id, length });
  }

  lock(service: string, key: string): ObjectLock | undefined {
    const applied = this.#locks.get(objectName(service, key));
    if (applied !== undefined) return applied ?? undefined;
    return this.#reads.lock(this.partition, service, key);
  }

  inbox(service: string, key: string, seq: number): InboxEntry | undefined {
    const applied = this.#inboxes.get(`${seq}/${objectName(service, key)}`);
    if (applied !== undefined) return applied ?? undefined;
    return this.#reads.inbox(this.partition, service, key, seq);
  }

  state(service: string, key: string, stateKey: string): Uint8Array | undefined {
    const applied = this.#state.get(stateName(service, key, stateKey));
    if (applied !== undefined) return applied ?? undefined;
    return this.#reads.state(this.partition, service, key, stateKey);
  }

  stateOf(service: string, key: string): ReadonlyMap<string, Uint8Array> {
    const stored = this.states.stored(service, key) ?? this.#loaded.stateOf(service, key);
    if (stored === undefined) throw new NeedsLoad({ kind: "stateOf", service, key });
    return overlaidState(stored, this.#state.rows(), stateName(service, key, ""));
  }

  promise(service: string, key: string, name: string): WorkflowPromise | undefined {
    const applied = this.#promises.get(stateName(service, key, name));
    if (applied !== undefined) return applied ?? undefined;
    return this.#reads.promise(this.partition, service, key, name);
  }

  promisesOf(service: string, key: string): readonly string[] {
    const stored = this.#loaded.promisesOf(service, key);
    if (stored === undefined) throw new NeedsLoad({ kind: "promisesOf", service, key });
    return overlaidNames(stored, this.#promises.rows(), stateName(service, key, ""));
  }

  isGated(target: Target & { readonly scope: string }, limitKey: string | undefined): boolean {
    if (this.rules.limits(target.scope, limitKey)) return true;
    return this.pausedQueueCount > 0 && this.queuePause(queueOfScope(target, limitKey)) !== undefined;
  }

  queuePause(queue: VqueueId): QueuePause | undefined {
    const applied = this.#pauses.get(queue);
    return applied === undefined ? this.#durablePauses.get(queue) : (applied ?? undefined);
  }

  hasTimer(timer: TimerKey): boolean {
    const applied = this.#timers.get(timerName(timer));
    return applied === undefined ? this.#reads.hasTimer(this.partition, timer) : applied !== null;
  }

  dedup(producer: string): number {
    const applied = this.#dedup.get(producer);
    return (applied === undefined ? this.#reads.dedup(this.partition, producer) : applied) ?? -1;
  }

  // ── Transition ─────────────────────────────────────────────────────────────────────────────────

  mutate(mutation: Mutation): void {
    this.mutateUnseen(mutation);
    this.stateTtls.applied(mutation);
    switch (mutation.kind) {
      case "putInvocation":
        this.#move(mutation.invocation.facts.id, mutation.invocation);
        return this.#invocations.set(mutation.invocation.facts.id, mutation.invocation);
      case "deleteInvocation":
        this.#move(mutation.id, undefined);
        return this.#invocations.set(mutation.id, null);
      case "appendEntry":
        this.#mutationBytes += mutation.entry.body.length;
        return this.#entries.set(`${mutation.id}${mutation.index}`, mutation.entry);
      case "deleteJournal":
        for (let index = 0; index < mutation.length; index++) this.#entries.set(`${mutation.id}${index}`, null);
        return;
      case "putState":
        this.#mutationBytes += mutation.value.length;
        this.states.noteWrite(mutation.service, mutation.key);
        return this.#state.set(stateName(mutation.service, mutation.key, mutation.stateKey), mutation.value);
      case "deleteState":
        this.states.noteWrite(mutation.service, mutation.key);
        return this.#state.set(stateName(mutation.service, mutation.key, mutation.stateKey), null);
      case "putLock":
        return this.#locks.set(objectName(mutation.service, mutation.key), mutation.lock);
      case "deleteLock":
        return this.#locks.set(objectName(mutation.service, mutation.key), null);
      case "putInbox":
        return this.#inboxes.set(`${mutation.seq}/${objectName(mutation.service, mutation.key)}`, mutation.entry);
      case "deleteInbox":
        return this.#inboxes.set(`${mutation.seq}/${objectName(mutation.service, mutation.key)}`, null);
      case "putPromise":
        return this.#promises.set(stateName(mutation.service, mutation.key, mutation.name), mutation.promise);
      case "deletePromise":
        return this.#promises.set(stateName(mutation.service, mutation.key, mutation.name), null);
      case "putTimer":
        if (timerGroupOf(mutation.timer) === "precise") this.populationCounters.timers(1);
        return this.#timers.set(timerName(mutation.timer), true);
      case "deleteTimer":
        if (timerGroupOf(mutation.timer) === "precise") this.populationCounters.timers(-1);
        return this.#timers.set(timerName(mutation.timer), null);
      case "putDedup":
        return this.#dedup.set(mutation.producer, mutation.seq);
      case "putPause":
        if (this.queuePause(mutation.queue) === undefined) this.pausedQueueCount++;
        return this.#pauses.set(mutation.queue, mutation.pause);
      case "deletePause":
        if (this.queuePause(mutation.queue) !== undefined) this.pausedQueueCount--;
        return this.#pauses.set(mutation.queue, null);
      case "putBucket":
      case "deleteBucket":
      case "putEvent":
      case "deleteEvents":
      case "putOutbox":
      case "deleteOutbox":
        return; // Transitions never read these rows.
      default:
        return unreachable(mutation);
    }
  }

  /** Counts the invocation under its new status; undefined: deleted. Transitions read what they change, so one that was not read is new. */
  #move(id: InvocationId, to: Invocation | undefined): void {
    const applied = this.#invocations.get(id);
    const from = applied === undefined ? (this.#running.get(id) ?? this.#stored.get(id)) : (applied ?? undefined);
    this.populationCounters.move(from?.status, to?.status ?? "completed");
    this.#traffic.move(from, to, this.#effects ?? NOTHING_CAUSED.effects);
  }

  /** Writes the mutation with the others without showing it to readers: the rows that it deletes are in the archive from now on. */
  mutateUnseen(mutation: Mutation): void {
    this.#mutations ??= [];
    this.#mutations.push(mutation);
    this.#mutationBytes += MUTATION_BYTES;
  }

  effect(effect: Effect): void {
    this.#effects ??= [];
    this.#effects.push(effect);
  }

  send(command: PartitionCommand): void {
    this.#sent ??= [];
    this.#sent.push(command);
  }

  // ── reads without the store ────────────────────────────────────────────────────────────────────

  /** Returns an invocation that was applied since the last commit, or that runs. */
  appliedInvocation(id: InvocationId): Invocation | undefined {
    return this.#invocations.get(id) ?? this.#running.get(id);
  }

  /** Whether this row can be read without the store. */
  hasApplied(key: RowKey): boolean {
    switch (key.kind) {
      case "invocation":
        return this.#invocations.get(key.id) !== undefined || this.#running.has(key.id);
      case "entry":
        return this.#entries.get(`${key.id}${key.index}`) !== undefined;
      case "lock":
        return this.#locks.get(objectName(key.service, key.key)) !== undefined;
      case "inbox":
        return this.#inboxes.get(`${key.seq}/${objectName(key.service, key.key)}`) !== undefined;
      case "state":
        return this.#state.get(stateName(key.service, key.key, key.stateKey)) !== undefined;
      case "promise":
        return this.#promises.get(stateName(key.service, key.key, key.name)) !== undefined;
      case "hasTimer":
        return this.#timers.get(timerName(key.timer)) !== undefined;
      case "dedup":
        return this.#dedup.get(key.producer) !== undefined;
      case "journal":
      case "stateOf":
      case "promisesOf":
        return false;
      default:
        return unreachable(key);
    }
  }

  // ── calls of the processor ─────────────────────────────────────────────────────────────────────

  /** Keeps the present command, and returns what it has caused. */
  accept(): Accepted {
    this.log.clear();
    this.populationCounters.accept();
    this.undo?.accept();
    this.#traffic.accept(this.nowMs);
    if (this.#stored.size > 0) this.#stored = new Map();
    this.#mutationMark = this.mutationCount;
    this.#pausedQueueMark = this.pausedQueueCount;
    if (this.#effects === undefined && this.#sent === undefined) return NOTHING_CAUSED;
    const accepted = { effects: this.#effects ?? NOTHING_CAUSED.effects, sent: this.#sent ?? NOTHING_CAUSED.sent };
    this.#effects = undefined;
    this.#sent = undefined;
    return accepted;
  }

  /** Undoes the present command. */
  takeBack(): void {
    this.log.rollBack();
    this.populationCounters.takeBack();
    this.undo?.takeBack();
    this.#traffic.takeBack();
    if (this.#stored.size > 0) this.#stored = new Map();
    if (this.#mutations !== undefined) this.#mutations.length = this.#mutationMark;
    this.pausedQueueCount = this.#pausedQueueMark;
    this.#effects = undefined;
    this.#sent = undefined;
  }

  get mutationCount(): number {
    return this.#mutations?.length ?? 0;
  }

  get mutationBytes(): number {
    return this.#mutationBytes;
  }

  /** Returns the mutations since the last seal, to be written now. */
  seal(): readonly Mutation[] {
    const mutations = this.#mutations ?? NO_MUTATIONS;
    this.states.seal(mutations);
    this.#mutations = undefined;
    this.#mutationMark = 0;
    this.#mutationBytes = 0;
    this.#loaded.clear();
    for (const table of this.#tables) table.seal();
    return mutations;
  }

  /** The sealed batch is durable. */
  markDurable(): void {
    for (const [id, invocation] of this.#invocations.inFlight()) {
      if (invocation?.status === "invoked") this.#running.set(id, invocation);
      else this.#running.delete(id);
    }
    if (this.#running.size === 0) this.#running = new Map(); // As in `Overlay.markDurable`: a map that is kept would retain rows.
    this.states.markDurable();
    for (const [queue, pause] of this.#pauses.inFlight()) {
      if (pause === null) this.#durablePauses.delete(queue as VqueueId);
      else this.#durablePauses.set(queue as VqueueId, pause);
    }
    for (const table of this.#tables) table.markDurable();
  }

  /** Whether everything applied is durable. */
  get isDurable(): boolean {
    return this.mutationCount === 0 && this.#tables.every((table) => table.isEmpty);
  }

  /** Takes over the rows that `NeedsLoad` requested, read while the partition had no writes under way. */
  load(loaded: Loaded): void {
    this.#loaded.add(loaded);
  }

  /** Adds a recovered invocation that runs. */
  remember(invocation: Invocation): void {
    this.#running.set(invocation.facts.id, invocation);
  }

  /** Adds a stored pause, when leadership starts. */
  rememberPause(queue: VqueueId, pause: QueuePause): void {
    this.#durablePauses.set(queue, pause);
    this.pausedQueueCount = this.#durablePauses.size;
    this.#pausedQueueMark = this.pausedQueueCount;
  }

  pauses(): ReadonlyMap<VqueueId, QueuePause> {
    return this.#durablePauses;
  }
}
