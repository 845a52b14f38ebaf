/**
 * The checkers' own model of flow control: it counts running invocations by what became durable, has the rules as users set them, and
 * is independent of schedulers. A start above a limit or a rate, a key that is passed over too often, an invocation that waits without
 * reason: each is a finding.
 */
import { type InvocationId, vqueueId } from "@perdure/base";
import { type FlowRule, RuleBook } from "@perdure/flow-control";
import { type Invocation, type InvocationFacts, isSlotted, waitsForSlot } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";

/** Time after a change of rules in which starts under way still follow the old ones. Longer than the slowest commit. */
const GRACE_MS = 15_000;
/** A start is admitted, then applied: two may be closer together in the record than when they were admitted. */
const RATE_SLACK_MS = 1_000;
/** Starts of another key that may be under way already when an invocation begins to wait, and one turn where tags are equal. */
const TURNS_SLACK = 6;

/**
 * A free slot that an invocation waits for is used within this time, unless its leader changes meanwhile: a few of the slowest commits.
 */
const FREE_SLOT_MS_MAX = 15_000;

interface QueuedInvocation {
  readonly facts: InvocationFacts;
  /** Number of starts by key since it began to wait. */
  readonly startsByKey: Map<string, number>;
  readonly leaders: number;
}

export class FlowModel {
  readonly #findings: SimulationFindings;
  readonly #nowMs: () => number;
  #book = RuleBook.EMPTY;
  /** Rule books that are or were in force, and until when. */
  #books: { readonly book: RuleBook; untilMs: number }[] = [{ book: RuleBook.EMPTY, untilMs: Number.POSITIVE_INFINITY }];
  readonly #running = new Map<InvocationId, readonly string[]>();
  readonly #usage = new Map<string, number>();
  /** Times of first starts by level, since the last change of rules. */
  readonly #starts = new Map<string, number[]>();
  readonly #waiting = new Map<InvocationId, QueuedInvocation>();
  /** Invocations that wait for a slot, and since when a slot is free for each. */
  readonly #slotWaits = new Map<InvocationId, { readonly facts: InvocationFacts; sinceMs: number | undefined }>();
  #leaders = 0;
  /** Paused queues, as the pauser reports them. */
  pausedQueues: ReadonlySet<string> = new Set();
  /** Number of waits for a slot. */
  waits = 0;
  starts = 0;

  constructor(findings: SimulationFindings, nowMs: () => number) {
    this.#findings = findings;
    this.#nowMs = nowMs;
  }

  rulesChanged(rules: readonly FlowRule[]): void {
    const nowMs = this.#nowMs();
    const last = this.#books.at(-1);
    if (last !== undefined) last.untilMs = nowMs;
    this.#book = new RuleBook(rules);
    this.#books = this.#books.filter(({ untilMs }) => untilMs + GRACE_MS > nowMs);
    this.#books.push({ book: this.#book, untilMs: Number.POSITIVE_INFINITY });
    this.#starts.clear();
    this.#waiting.clear(); // Turns are counted between changes only.
    this.#resetSlotWaits();
  }

  leaderChanged(): void {
    this.#leaders++;
    this.#resetSlotWaits();
  }

  /** A queue was paused: waiting invocations may be passed over without fault. */
  queuePaused(): void {
    this.#waiting.clear();
  }

  put(before: Invocation | undefined, invocation: Invocation): void {
    const { facts } = invocation;
    if (!isSlotted(facts.target)) return;
    const { id } = facts;
    this.#checkFreeSlots();
    const runs = invocation.status === "invoked";
    if (runs && !this.#running.has(id)) this.#started(before, invocation);
    if (!runs) this.left(id);
    if (!waitsForSlot(invocation)) this.#slotWaits.delete(id);
    else if (!this.#slotWaits.has(id)) this.#slotWaits.set(id, { facts, sinceMs: undefined });
    if (!waitsForSlot(invocation)) this.#waiting.delete(id);
    else if (invocation.status === "inboxed" && before?.status !== "inboxed") {
      this.waits++;
      this.#waiting.set(id, { facts, startsByKey: new Map(), leaders: this.#leaders });
    }
  }

  left(id: InvocationId): void {
    for (const level of this.#running.get(id) ?? []) this.#usage.set(level, (this.#usage.get(level) ?? 0) - 1);
    this.#running.delete(id);
    this.#waiting.delete(id);
    this.#slotWaits.delete(id);
  }

  #resetSlotWaits(): void {
    for (const waiting of this.#slotWaits.values()) waiting.sinceMs = undefined;
  }

  /** Called before each event: until now everything was as it is in the record. */
  #checkFreeSlots(): void {
    const nowMs = this.#nowMs();
    for (const [id, waiting] of this.#slotWaits) {
      if (this.#isRated(waiting.facts) || !this.#hasFreeSlot(waiting.facts)) {
        waiting.sinceMs = undefined;
        continue;
      }
      waiting.sinceMs ??= nowMs;
      const sinceMs = waiting.sinceMs;
      this.#findings.require(
        nowMs - sinceMs <= FREE_SLOT_MS_MAX,
        "a free slot goes to a waiting invocation",
        () => `${id} since ${sinceMs}, now ${nowMs}`,
      );
    }
  }

  #hasFreeSlot(facts: InvocationFacts): boolean {
    if (this.#isPaused(facts)) return false;
    return levelsOf(facts).every(
      (level) => (this.#usage.get(level) ?? 0) < (ruleOf(this.#book, level)?.concurrency ?? Number.POSITIVE_INFINITY),
    );
  }

  #isPaused({ target, limitKey }: InvocationFacts): boolean {
    if (!isSlotted(target) || this.pausedQueues.size === 0) return false;
    return this.pausedQueues.has(vqueueId({ service: target.service, scope: target.scope, limitKey, lockKey: undefined }));
  }

  #started(before: Invocation | undefined, { facts, milestones }: Invocation): void {
    const startedAtMs = milestones.runningAtMs ?? 0;
    const levels = levelsOf(facts);
    this.starts++;
    this.#running.set(facts.id, levels);
    for (const level of levels) {
      const usage = (this.#usage.get(level) ?? 0) + 1;
      this.#usage.set(level, usage);
      const limit = this.#limitOf(level);
      this.#findings.require(
        usage <= limit,
        "no more invocations run than a rule allows",
        () => `${level}: ${usage} of ${limit}, ${facts.id}`,
      );
    }
    if (before === undefined || before.run === 0) this.#rates(levels, startedAtMs);
    this.#turns(facts);
  }

  /** Returns the highest limit of all rules in force lately. */
  #limitOf(level: string): number {
    let limit = 0;
    const nowMs = this.#nowMs();
    for (const { book, untilMs } of this.#books) {
      if (untilMs + GRACE_MS > nowMs) limit = Math.max(limit, ruleOf(book, level)?.concurrency ?? Number.POSITIVE_INFINITY);
    }
    return limit;
  }

  /** Uses the start time in the record: the duration of the write does not count. */
  #rates(levels: readonly string[], startedAtMs: number): void {
    const nowMs = this.#nowMs();
    if (this.#books.some(({ untilMs }) => untilMs !== Number.POSITIVE_INFINITY && untilMs + GRACE_MS > nowMs)) return;
    for (const level of levels) {
      const rate = ruleOf(this.#book, level)?.rate;
      if (rate === undefined) continue;
      const times = this.#starts.get(level) ?? [];
      this.#starts.set(level, times);
      times.push(startedAtMs);
      for (const [at, fromMs] of times.entries()) {
        const allowed = rate.burst + ((startedAtMs - fromMs + RATE_SLACK_MS) * rate.limit) / rate.periodMs;
        const count = times.length - at;
        this.#findings.require(
          count <= allowed,
          "no more invocations start than a rate allows",
          () => `${level}: ${count} since ${fromMs}, now ${startedAtMs}`,
        );
      }
    }
  }

  /**
   * Checks turns: while an invocation waits under a key that has no limit of its own, other keys of the scope get their turns and no more.
   */
  #turns(started: InvocationFacts): void {
    const key = firstOf(started.limitKey);
    for (const waiting of this.#waiting.values()) {
      const { facts, startsByKey } = waiting;
      if (facts.target.scope !== started.target.scope) continue;
      if (this.#isPaused(facts)) {
        startsByKey.clear();
        continue;
      }
      startsByKey.set(key, (startsByKey.get(key) ?? 0) + 1);
      const own = firstOf(facts.limitKey);
      if (key === own || this.#hasOwnLimit(facts) || this.#isRated(facts)) continue;
      const turns = (startsByKey.get(own) ?? 0) + 1;
      const share = this.#weightOf(started) / this.#weightOf(facts);
      const most = (turns + TURNS_SLACK + 2 * (this.#leaders - waiting.leaders)) * Math.max(1, share) + share;
      const count = startsByKey.get(key) ?? 0;
      this.#findings.require(
        count <= most,
        "no limit key is passed over",
        () => `${facts.id} of ${own} waits while ${count} of ${key} started`,
      );
    }
  }

  #weightOf({ target, limitKey }: InvocationFacts): number {
    return limitKey === undefined ? 1 : (this.#book.ruleFor(target.scope ?? "", firstOf(limitKey), undefined)?.weight ?? 1);
  }

  #hasOwnLimit(facts: InvocationFacts): boolean {
    return levelsOf(facts)
      .slice(1)
      .some((level) => ruleOf(this.#book, level)?.concurrency !== undefined);
  }

  #isRated(facts: InvocationFacts): boolean {
    return levelsOf(facts).some((level) => ruleOf(this.#book, level)?.rate !== undefined);
  }

  /** Long after the last event: an invocation that still waits for a slot needs a reason: no slot is free, or its queue is paused. */
  causeMissing({ facts }: Invocation): string | undefined {
    if (!isSlotted(facts.target)) return "it needs none";
    return !this.#isPaused(facts) && this.#hasFreeSlot(facts) ? "a slot is free on every level" : undefined;
  }
}

function levelsOf({ target, limitKey }: InvocationFacts): string[] {
  const levels = [target.scope ?? ""];
  for (const part of limitKey?.split("/") ?? []) levels.push(`${levels.at(-1)}/${part}`);
  return levels;
}

function ruleOf(book: RuleBook, level: string): FlowRule | undefined {
  const [scope = "", l1, l2] = level.split("/");
  return book.ruleFor(scope, l1, l2);
}

/** Returns the component by which keys of a scope share; calls without a key share as one. */
function firstOf(limitKey: string | undefined): string {
  return limitKey === undefined ? "" : (limitKey.split("/")[0] as string);
}
