/**
 * Connects the partitions led here with their schedulers. It passes durable facts to the scheduler, submits the scheduler's admissions
 * to the partition as commands, and calls the scheduler when time or a rule change may have freed capacity.
 *
 *     effect (durable) ▸ scheduler ▸ admit() ▸ `admit` command ▸ commit ▸ effect …
 */
import type { Clock, TimerHandle, VqueueId } from "@perdure/base";
import { vqueueId } from "@perdure/base";
import { type FlowRule, FlowScheduler, type FlowSubject, RuleBook } from "@perdure/flow-control";
import {
  type Effect,
  type Invocation,
  type InvocationFacts,
  isSlotted,
  type PartitionCommand,
  routeOfQueue,
  waitsForSlot,
} from "@perdure/state-machine";
import type { StoredFlow } from "@perdure/storage";
import type { LiveView } from "../view/live-view.js";

/** Source of the rules, from the registry. */
export interface RuleSource {
  /** The same array until a rule changes. */
  rules(): readonly FlowRule[];
  onChange(listener: () => void): () => void;
}

/** The source of rules where nothing is limited. */
export const NO_RULES: RuleSource = Object.freeze({ rules: () => EMPTY, onChange: () => () => undefined });
const EMPTY: readonly FlowRule[] = Object.freeze([]);

export interface FlowPorts {
  readonly rules: RuleSource;
  readonly clock: Clock;
  /** Adds a command to the mailbox. */
  readonly submit: (command: PartitionCommand) => void;
  /** Calls back when everything applied so far is durable and its effects are performed. */
  readonly whenDurable: (callback: () => void) => void;
  /** Records facts and admits no invocation. */
  readonly isSuspended: boolean;
}

export type FlowEffect = Extract<
  Effect,
  { kind: "requestSlot" | "takeSlot" | "slotUnused" | "releaseSlot" | "withdraw" | "queueSwitched" }
>;

interface Flow {
  readonly view: LiveView;
  readonly scheduler: FlowScheduler;
  /** The scheduler received facts since `admit()` was last called. */
  isStale: boolean;
  /** The scheduler admitted as many as it may at once; the rest waits until these are durable. */
  isBusy: boolean;
}

export class FlowControl {
  readonly #ports: FlowPorts;
  readonly #flows = new Map<number, Flow>();
  #rules: readonly FlowRule[];
  #book: RuleBook;
  #timer: TimerHandle | undefined;
  #timerAtMs: number | undefined;
  #isStale = false;
  #stopped = false;
  readonly #unlisten: () => void;

  constructor(ports: FlowPorts) {
    this.#ports = ports;
    this.#rules = ports.rules.rules();
    this.#book = new RuleBook(this.#rules);
    this.#unlisten = ports.rules.onChange(() => this.#rulesChanged());
  }

  scheduler(partition: number): FlowScheduler | undefined {
    return this.#flows.get(partition)?.scheduler;
  }

  // ── at leadership ──────────────────────────────────────────────────────────────────────────────

  lead(view: LiveView, { buckets, pauses }: StoredFlow): void {
    view.rules = this.#book;
    const scheduler = new FlowScheduler(this.#book);
    const nowMs = this.#ports.clock.nowMs();
    for (const bucket of buckets) scheduler.restoreBucket(bucket, nowMs);
    for (const { queue, pause } of pauses) {
      view.rememberPause(queue, pause);
      scheduler.switchQueue(queue, true);
    }
    this.#flows.set(view.partition, { view, scheduler, isStale: buckets.length > 0, isBusy: false });
    if (buckets.length > 0) this.#isStale = true;
  }

  /** Passes a stored invocation to the scheduler. */
  recover(partition: number, invocation: Invocation): void {
    if (!isSlotted(invocation.facts.target)) return;
    const flow = this.#stale(partition);
    if (invocation.status === "invoked") flow?.scheduler.started(subjectOf(invocation.facts));
    else if (waitsForSlot(invocation)) this.#request(flow, invocation);
  }

  // ── effects ────────────────────────────────────────────────────────────────────────────────────

  perform(partition: number, effect: FlowEffect): void {
    const flow = this.#stale(partition);
    if (flow === undefined) return;
    const { scheduler } = flow;
    switch (effect.kind) {
      case "requestSlot":
        return this.#request(flow, effect.invocation);
      case "takeSlot":
        return scheduler.started(subjectOf(effect.invocation.facts));
      case "slotUnused":
        return scheduler.unused(effect.id);
      case "releaseSlot":
      case "withdraw":
        return scheduler.left(effect.id);
      case "queueSwitched":
        return scheduler.switchQueue(effect.queue, effect.paused);
    }
  }

  #request(flow: Flow | undefined, invocation: Invocation): void {
    const isWoken = invocation.status === "ready";
    const sinceMs = isWoken ? invocation.readyAtMs : (invocation.milestones.inboxedAtMs ?? invocation.modifiedAtMs);
    flow?.scheduler.request(subjectOf(invocation.facts), sinceMs, isWoken);
  }

  #stale(partition: number): Flow | undefined {
    const flow = this.#flows.get(partition);
    if (flow !== undefined) flow.isStale = true;
    this.#isStale = true;
    return flow;
  }

  // ── admissions ─────────────────────────────────────────────────────────────────────────────────

  /** Admits waiting invocations. Call this after effects were performed. */
  admitWaiting(): void {
    if (!this.#isStale || this.#stopped || this.#ports.isSuspended) return;
    this.#isStale = false;
    for (const flow of this.#flows.values()) if (flow.isStale) this.#admit(flow);
    this.#arm();
  }

  #admit(flow: Flow): void {
    if (flow.isBusy) return; // The state stays stale; the end of the work that is waited for calls this again.
    flow.isStale = false;
    const { scheduler } = flow;
    for (const { id, buckets } of scheduler.admit(this.#ports.clock.nowMs())) this.#ports.submit({ kind: "admit", id, buckets });
    this.#deleteBuckets(scheduler.takeUnusedBuckets());
    if (!scheduler.hasMore) return;
    flow.isBusy = true;
    this.#ports.whenDurable(() => {
      flow.isBusy = false;
      flow.isStale = true;
      this.#isStale = true;
      this.admitWaiting();
    });
  }

  /** All names are of scopes of one partition, so any of them routes there. */
  #deleteBuckets(names: readonly string[]): void {
    const [first] = names;
    if (first === undefined) return;
    const [scope = ""] = first.split("/");
    this.#ports.submit({ kind: "deleteBuckets", id: routeOfQueue(anyQueueOf(scope)), names });
  }

  #arm(): void {
    let earliest: number | undefined;
    for (const { scheduler, isBusy } of this.#flows.values()) {
      const at = isBusy ? undefined : scheduler.nextAtMs;
      if (at !== undefined && (earliest === undefined || at < earliest)) earliest = at;
    }
    if (earliest === this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAtMs = earliest;
    if (earliest === undefined) return;
    const { clock } = this.#ports;
    this.#timer = clock.setTimer(Math.max(0, earliest - clock.nowMs()), () => {
      this.#timer = undefined;
      this.#timerAtMs = undefined;
      for (const flow of this.#flows.values()) if (flow.scheduler.nextAtMs !== undefined) flow.isStale = true;
      this.#isStale = true;
      this.admitWaiting();
    });
  }

  // ── rules ──────────────────────────────────────────────────────────────────────────────────────

  /**
   * New rules gate new starts at once. The schedulers adopt them when everything applied before is durable: by then they have received,
   * and count, all invocations that started while no rule limited them.
   */
  #rulesChanged(): void {
    const rules = this.#ports.rules.rules();
    if (this.#stopped || rules === this.#rules) return;
    this.#rules = rules;
    const book = new RuleBook(rules);
    this.#book = book;
    for (const { view } of this.#flows.values()) view.rules = book;
    this.#ports.whenDurable(() => {
      if (this.#stopped || this.#book !== book) return; // The rules changed again meanwhile.
      for (const flow of this.#flows.values()) {
        flow.scheduler.setRules(book, this.#ports.clock.nowMs());
        flow.isStale = true;
      }
      this.#isStale = true;
      this.admitWaiting();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#unlisten();
  }
}

function subjectOf({ id, target, limitKey, priority }: InvocationFacts): FlowSubject {
  return { id, service: target.service, scope: target.scope ?? "", limitKey, priority };
}

function anyQueueOf(scope: string): VqueueId {
  return vqueueId({ service: "", scope, limitKey: undefined, lockKey: undefined });
}
