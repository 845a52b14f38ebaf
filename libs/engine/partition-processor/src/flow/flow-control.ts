/**
 * Connects the partitions led here with their schedulers. It passes durable facts to the scheduler, submits the scheduler's admissions
 * to the partition as commands, and calls the scheduler when time or a rule change may have freed capacity.
 *
 *     effect (durable) ▸ scheduler ▸ admit() ▸ `admit` command ▸ commit ▸ effect …
 */
import { type TimerHandle, type VqueueId, vqueueId } from "@perdure/base";
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
import type { LeaderPartition } from "../leader-partition.js";
import type { PartitionGroup } from "../partition-group.js";
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

export type FlowEffect = Extract<
  Effect,
  { kind: "requestSlot" | "takeSlot" | "slotUnused" | "releaseSlot" | "withdraw" | "queueSwitched" }
>;

/** The scheduler of one partition. */
export class PartitionFlow {
  readonly scheduler: FlowScheduler;
  /** The scheduler received facts since `admit()` was last called. */
  isStale = false;
  /** The scheduler admitted as many as it may at once; the rest waits until these are durable. */
  isBusy = false;

  constructor(scheduler: FlowScheduler) {
    this.scheduler = scheduler;
  }
}

export class FlowControl {
  readonly #group: PartitionGroup;
  #rules: readonly FlowRule[];
  #book: RuleBook;
  #timer: TimerHandle | undefined;
  #timerAtMs: number | undefined;
  /** The flow of a partition is stale. */
  #isStale = false;
  /** The partitions have not been read completely: what runs is not counted, so no limit would hold. */
  #isRecovering = true;
  #stopped = false;
  readonly #unlisten: () => void;

  constructor(group: PartitionGroup) {
    this.#group = group;
    const { rules } = group.ports;
    this.#rules = rules.rules();
    this.#book = new RuleBook(this.#rules);
    this.#unlisten = rules.onChange(() => this.#rulesChanged());
  }

  // ── at leadership ──────────────────────────────────────────────────────────────────────────────

  /** Restores the stored buckets and pauses of a partition that is about to be led here. */
  restore(view: LiveView, { buckets, pauses }: StoredFlow): PartitionFlow {
    view.rules = this.#book;
    const flow = new PartitionFlow(new FlowScheduler(this.#book));
    const nowMs = this.#group.ports.clock.nowMs();
    for (const bucket of buckets) flow.scheduler.restoreBucket(bucket, nowMs);
    for (const { queue, pause } of pauses) {
      view.rememberPause(queue, pause);
      flow.scheduler.switchQueue(queue, true);
    }
    if (buckets.length > 0) this.#markStale(flow);
    return flow;
  }

  /** Passes a stored invocation to the scheduler. */
  recover({ flow }: LeaderPartition, invocation: Invocation): void {
    if (!isSlotted(invocation.facts.target)) return;
    this.#markStale(flow);
    if (invocation.status === "invoked") flow.scheduler.started(subjectOf(invocation.facts));
    else if (waitsForSlot(invocation)) request(flow, invocation);
  }

  /** Admits waiting invocations from now on: all partitions have been read. */
  begin(): void {
    this.#isRecovering = false;
    this.admitWaiting();
  }

  // ── effects ────────────────────────────────────────────────────────────────────────────────────

  perform({ flow }: LeaderPartition, effect: FlowEffect): void {
    this.#markStale(flow);
    const { scheduler } = flow;
    switch (effect.kind) {
      case "requestSlot":
        return request(flow, effect.invocation);
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

  #markStale(flow: PartitionFlow): void {
    flow.isStale = true;
    this.#isStale = true;
  }

  // ── admissions ─────────────────────────────────────────────────────────────────────────────────

  /** Admits waiting invocations. Call this after effects were performed. */
  admitWaiting(): void {
    if (!this.#isStale || this.#isRecovering || this.#stopped || this.#group.options.isSuspended === true) return;
    this.#isStale = false;
    for (const { flow } of this.#group.leaders.values()) if (flow.isStale) this.#admit(flow);
    this.#arm();
  }

  #admit(flow: PartitionFlow): void {
    if (flow.isBusy) return; // The state stays stale; the end of the work that is waited for calls this again.
    flow.isStale = false;
    const { scheduler } = flow;
    const nowMs = this.#group.ports.clock.nowMs();
    for (const { id, buckets } of scheduler.admit(nowMs)) this.#submit({ kind: "admit", id, buckets });
    this.#deleteBuckets(scheduler.takeUnusedBuckets());
    if (!scheduler.hasMore) return;
    flow.isBusy = true;
    this.#group.post({ kind: "barrier", passed: () => this.#admitMore(flow) });
  }

  /** Admits more invocations once the admitted ones are durable. */
  #admitMore(flow: PartitionFlow): void {
    flow.isBusy = false;
    this.#markStale(flow);
    this.admitWaiting();
  }

  #submit(command: PartitionCommand): void {
    this.#group.post({ kind: "command", command, receiver: undefined });
  }

  /** All names are of scopes of one partition, so any of them routes there. */
  #deleteBuckets(names: readonly string[]): void {
    const [first] = names;
    if (first === undefined) return;
    const [scope = ""] = first.split("/");
    this.#submit({ kind: "deleteBuckets", id: routeOfQueue(anyQueueOf(scope)), names });
  }

  #arm(): void {
    let earliest: number | undefined;
    for (const { flow } of this.#group.leaders.values()) {
      const at = flow.isBusy ? undefined : flow.scheduler.nextAtMs;
      if (at !== undefined && (earliest === undefined || at < earliest)) earliest = at;
    }
    if (earliest === this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAtMs = earliest;
    if (earliest === undefined) return;
    const { clock } = this.#group.ports;
    this.#timer = clock.setTimer(Math.max(0, earliest - clock.nowMs()), () => this.#capacityIsDue());
  }

  /** The time has come at which rates allow another start. */
  #capacityIsDue(): void {
    this.#timer = undefined;
    this.#timerAtMs = undefined;
    for (const { flow } of this.#group.leaders.values()) if (flow.scheduler.nextAtMs !== undefined) flow.isStale = true;
    this.#isStale = true;
    this.admitWaiting();
  }

  // ── rules ──────────────────────────────────────────────────────────────────────────────────────

  /**
   * New rules gate new starts at once. The schedulers adopt them when everything applied before is durable: by then they have received,
   * and count, all invocations that started while no rule limited them.
   */
  #rulesChanged(): void {
    const { ports, leaders } = this.#group;
    const rules = ports.rules.rules();
    if (this.#stopped || rules === this.#rules) return;
    this.#rules = rules;
    const book = new RuleBook(rules);
    this.#book = book;
    for (const { view } of leaders.values()) view.rules = book;
    this.#group.post({ kind: "barrier", passed: () => this.#adopt(book) });
  }

  #adopt(book: RuleBook): void {
    if (this.#stopped || this.#book !== book) return; // The rules changed again meanwhile.
    const nowMs = this.#group.ports.clock.nowMs();
    for (const { flow } of this.#group.leaders.values()) {
      flow.scheduler.setRules(book, nowMs);
      flow.isStale = true;
    }
    this.#isStale = true;
    this.admitWaiting();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#unlisten();
  }
}

function request({ scheduler }: PartitionFlow, invocation: Invocation): void {
  const isWoken = invocation.status === "ready";
  const sinceMs = isWoken ? invocation.readyAtMs : (invocation.milestones.inboxedAtMs ?? invocation.modifiedAtMs);
  scheduler.request(subjectOf(invocation.facts), sinceMs, isWoken);
}

function subjectOf({ id, target, limitKey, priority }: InvocationFacts): FlowSubject {
  return { id, service: target.service, scope: target.scope ?? "", limitKey, priority };
}

function anyQueueOf(scope: string): VqueueId {
  return vqueueId({ service: "", scope, limitKey: undefined, lockKey: undefined });
}
