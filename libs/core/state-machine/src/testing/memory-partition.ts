/**
 * A partition in memory, for tests of the core without a store. Rows are in maps; the mutations, effects and messages of each command
 * are kept for the test, and messages can be applied at once.
 */

import { fromUtf8, type InvocationId, type VqueueId } from "@perdure/base";
import { apply } from "../apply.js";
import type { PartitionCommand, TimerKey } from "../command.js";
import type { Effect } from "../effect.js";
import type { JournalEntry, JournalEvent } from "../entry.js";
import type { EventSubscription } from "../event/subscription.js";
import { queueOfScope } from "../flow/queue.js";
import type { PartitionSnapshot } from "../invariants.js";
import { THROTTLE_KEY_COUNT, THROTTLE_KEYS_MAX } from "../invocation/throttle.js";
import type { Invocation } from "../invocation.js";
import type { InboxEntry, Mutation, ObjectLock, QueuePause, WorkflowPromise } from "../mutation.js";
import {
  decodeStateExpiry,
  OWN_TTL_SERVICES_KEY,
  type ServiceTtl,
  STATE_EXPIRY_ROW,
  STATE_TTL_SERVICE,
} from "../state/expiry.js";
import type { Target } from "../target.js";
import type { Transition } from "../transition.js";
import type { UndoRows } from "../undo/rows.js";
import type { PartitionView } from "../view.js";
import { MemoryUndo } from "./memory-undo.js";

/** The results of one command. */
export interface Played {
  readonly mutations: readonly Mutation[];
  readonly effects: readonly Effect[];
  readonly sent: readonly PartitionCommand[];
}

export class MemoryPartition implements PartitionView, Transition {
  nowMs = 1_000;
  readonly undo: UndoRows = new MemoryUndo();
  readonly invocations = new Map<InvocationId, Invocation>();
  readonly entries = new Map<string, JournalEntry>();
  readonly events = new Map<string, JournalEvent>();
  readonly locks = new Map<string, ObjectLock>();
  readonly inboxes = new Map<string, InboxEntry>();
  readonly states = new Map<string, Map<string, Uint8Array>>();
  readonly promises = new Map<string, Map<string, WorkflowPromise>>();
  readonly timers = new Map<string, TimerKey>();
  readonly pauses = new Map<VqueueId, QueuePause>();
  /** Scopes that a rule limits; the test admits their invocations with `admit`. */
  readonly gates = new Set<string>();
  /** Times to live of services. */
  readonly serviceTtls = new Map<string, ServiceTtl>();
  readonly stateTtls = {
    ofService: (service: string): ServiceTtl => this.serviceTtls.get(service) ?? "never",
    hasOwn: (service: string): boolean => this.state(STATE_TTL_SERVICE, OWN_TTL_SERVICES_KEY, service) !== undefined,
    dueFromMs: 0,
  };
  throttleKeysMax = THROTTLE_KEYS_MAX;
  eventSubscriptions: readonly EventSubscription[] | undefined;
  /** Read by tests only: the core never reads these back. */
  readonly outbox = new Map<number, PartitionCommand>();
  readonly producers = new Map<string, number>();
  readonly buckets = new Map<string, number>();
  #played: { mutations: Mutation[]; effects: Effect[]; sent: PartitionCommand[] } = { mutations: [], effects: [], sent: [] };

  /** Applies one command; its messages are only recorded. */
  play(command: PartitionCommand): Played {
    this.#played = { mutations: [], effects: [], sent: [] };
    apply(this, command, this);
    return this.#played;
  }

  /** Applies a command and all messages that follow from it, breadth first, as if this partition owned all ids. */
  playAll(command: PartitionCommand): Played {
    const all: { mutations: Mutation[]; effects: Effect[]; sent: PartitionCommand[] } = { mutations: [], effects: [], sent: [] };
    const waiting: PartitionCommand[] = [command];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { mutations, effects, sent } = this.play(next);
      all.mutations.push(...mutations);
      all.effects.push(...effects);
      all.sent.push(...sent);
      waiting.push(...sent);
    }
    return all;
  }

  /** All rows, for the invariants. */
  snapshot(): PartitionSnapshot {
    const journals = new Map<InvocationId, (JournalEntry | undefined)[]>();
    for (const [key, entry] of this.entries) {
      const [id, index] = key.split("/") as [InvocationId, string];
      const entries = journals.get(id) ?? [];
      entries[Number(index)] = entry;
      journals.set(id, entries);
    }
    const keyed = (name: string) => ({ service: name.slice(0, name.indexOf("/")), key: name.slice(name.indexOf("/") + 1) });
    return {
      invocations: [...this.invocations.values()],
      journals,
      locks: [...this.locks].map(([name, lock]) => ({ ...keyed(name), lock })),
      inboxes: [...this.inboxes].map(([name, entry]) => {
        const cut = name.lastIndexOf("/");
        return { ...keyed(name.slice(0, cut)), seq: Number(name.slice(cut + 1)), entry };
      }),
      promises: [...this.promises].flatMap(([name, named]) =>
        [...named].map(([each, promise]) => ({ ...keyed(name), name: each, promise })),
      ),
      timers: [...this.timers.values()],
      pauses: [...this.pauses.values()],
      throttleKeyCounts: [...this.stateOf(THROTTLE_KEY_COUNT.service, THROTTLE_KEY_COUNT.key).values()].map((row) =>
        Number(fromUtf8(row)),
      ),
      expiries: [...this.states].flatMap(([name, rows]) => {
        const row = name.startsWith(`${STATE_TTL_SERVICE}/`) ? rows.get(STATE_EXPIRY_ROW) : undefined;
        return row === undefined ? [] : [decodeStateExpiry(row)];
      }),
    };
  }

  // ── PartitionView ──────────────────────────────────────────────────────────────────────────────

  invocation(id: InvocationId): Invocation | undefined {
    return this.invocations.get(id);
  }
  entry(id: InvocationId, index: number): JournalEntry | undefined {
    return this.entries.get(`${id}/${index}`);
  }
  journalOf(id: InvocationId, length: number): readonly (JournalEntry | undefined)[] {
    return Array.from({ length }, (_, index) => this.entry(id, index));
  }
  lock(service: string, key: string): ObjectLock | undefined {
    return this.locks.get(`${service}/${key}`);
  }
  inbox(service: string, key: string, seq: number): InboxEntry | undefined {
    return this.inboxes.get(`${service}/${key}/${seq}`);
  }
  state(service: string, key: string, stateKey: string): Uint8Array | undefined {
    return this.states.get(`${service}/${key}`)?.get(stateKey);
  }
  stateOf(service: string, key: string): ReadonlyMap<string, Uint8Array> {
    const rows = [...(this.states.get(`${service}/${key}`) ?? [])];
    return new Map(rows.sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1))); // Storage order of keys below 128 bytes.
  }
  promise(service: string, key: string, name: string): WorkflowPromise | undefined {
    return this.promises.get(`${service}/${key}`)?.get(name);
  }
  promisesOf(service: string, key: string): readonly string[] {
    return [...(this.promises.get(`${service}/${key}`)?.keys() ?? [])];
  }
  isGated(target: Target & { readonly scope: string }, limitKey: string | undefined): boolean {
    if (this.gates.has(target.scope)) return true;
    return this.pauses.size > 0 && this.pauses.has(queueOfScope(target, limitKey));
  }
  queuePause(queue: VqueueId): QueuePause | undefined {
    return this.pauses.get(queue);
  }
  get pausedQueueCount(): number {
    return this.pauses.size;
  }
  hasTimer(timer: TimerKey): boolean {
    return this.timers.has(timerText(timer));
  }
  dedup(producer: string): number {
    return this.producers.get(producer) ?? -1;
  }

  // ── Transition ─────────────────────────────────────────────────────────────────────────────────

  effect(effect: Effect): void {
    this.#played.effects.push(effect);
  }
  send(command: PartitionCommand): void {
    this.#played.sent.push(command);
  }
  mutate(mutation: Mutation): void {
    this.#played.mutations.push(mutation);
    switch (mutation.kind) {
      case "putInvocation":
        this.invocations.set(mutation.invocation.facts.id, mutation.invocation);
        return;
      case "deleteInvocation":
        this.invocations.delete(mutation.id);
        return;
      case "appendEntry":
        this.entries.set(`${mutation.id}/${mutation.index}`, mutation.entry);
        return;
      case "deleteJournal":
        for (let index = 0; index < mutation.length; index++) this.entries.delete(`${mutation.id}/${index}`);
        return;
      case "putEvent":
        this.events.set(`${mutation.id}/${mutation.slot}`, mutation.event);
        return;
      case "deleteEvents":
        for (const key of [...this.events.keys()]) if (key.startsWith(`${mutation.id}/`)) this.events.delete(key);
        return;
      case "putState":
        within(this.states, mutation).set(mutation.stateKey, mutation.value);
        return;
      case "deleteState":
        within(this.states, mutation).delete(mutation.stateKey);
        return;
      case "putLock":
        this.locks.set(`${mutation.service}/${mutation.key}`, mutation.lock);
        return;
      case "deleteLock":
        this.locks.delete(`${mutation.service}/${mutation.key}`);
        return;
      case "putInbox":
        this.inboxes.set(`${mutation.service}/${mutation.key}/${mutation.seq}`, mutation.entry);
        return;
      case "deleteInbox":
        this.inboxes.delete(`${mutation.service}/${mutation.key}/${mutation.seq}`);
        return;
      case "putPromise":
        within(this.promises, mutation).set(mutation.name, mutation.promise);
        return;
      case "deletePromise":
        within(this.promises, mutation).delete(mutation.name);
        return;
      case "putTimer":
        this.timers.set(timerText(mutation.timer), mutation.timer);
        return;
      case "deleteTimer":
        this.timers.delete(timerText(mutation.timer));
        return;
      case "putOutbox":
        this.outbox.set(mutation.message.seq, mutation.message.command);
        return;
      case "deleteOutbox":
        this.outbox.delete(mutation.seq);
        return;
      case "putBucket":
        this.buckets.set(mutation.bucket.name, mutation.bucket.bookedUntilMicros);
        return;
      case "deleteBucket":
        this.buckets.delete(mutation.name);
        return;
      case "putPause":
        this.pauses.set(mutation.queue, mutation.pause);
        return;
      case "deletePause":
        this.pauses.delete(mutation.queue);
        return;
      case "putDedup":
        this.producers.set(mutation.producer, mutation.seq);
        return;
    }
  }
}

function within<T>(rows: Map<string, Map<string, T>>, of: { readonly service: string; readonly key: string }): Map<string, T> {
  const name = `${of.service}/${of.key}`;
  let group = rows.get(name);
  if (group === undefined) {
    group = new Map();
    rows.set(name, group);
  }
  return group;
}

function timerText(timer: TimerKey): string {
  return `${timer.dueAtMs}/${timer.kind}/${timer.id}/${timer.sequence}`;
}
