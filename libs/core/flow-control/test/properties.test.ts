/**
 * Properties of the scheduler under any input, checked against a model of the rules that is independent of the scheduler's
 * implementation: never above a limit; every waiting entry is blocked by something; rates hold in every window; shares by weight.
 */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, vqueueId } from "@perdure/base";
import { SeededRandom } from "@perdure/testkit";
import { type FlowRule, FlowScheduler, type FlowSubject, RuleBook } from "../src/index.js";
import { aRule } from "../src/testing/index.js";

const NOW = 1_795_000_000_000;
const KEYS: readonly (string | undefined)[] = [undefined, "a", "a/x", "a/y", "b", "b/x", "c"];
const SCOPES = ["s1", "s2"];
const SERVICES = ["S", "T"];

type State = "waiting" | "admitting" | "running";
interface ModelEntry {
  readonly subject: FlowSubject;
  state: State;
  isWoken: boolean;
  sinceMs: number;
  /** The invocation left while it was being admitted. */
  gone: boolean;
}

const levelsOf = ({ scope, limitKey }: FlowSubject): string[] => {
  const parts = limitKey === undefined ? [] : limitKey.split("/");
  return [scope, ...parts.map((_, at) => [scope, ...parts.slice(0, at + 1)].join("/"))];
};

class Model {
  readonly random: SeededRandom;
  readonly scheduler: FlowScheduler;
  readonly entries = new Map<InvocationId, ModelEntry>();
  readonly paused = new Set<string>();
  readonly draws = new Map<string, number[]>();
  rules: readonly FlowRule[];
  book: RuleBook;
  nowMs = NOW;
  /** Time of the last change of rules. Buckets keep what was drawn before, which is no longer in `draws`; three intervals at most. */
  changedAtMs = 0;
  #count = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.rules = this.drawRules();
    this.book = new RuleBook(this.rules);
    this.scheduler = new FlowScheduler(this.book);
  }

  drawRules(): FlowRule[] {
    const rules: FlowRule[] = [];
    for (const pattern of ["*", "s1", "*/*", "s1/a", "*/b", "*/*/*", "s1/*/x"]) {
      if (this.random.chance(0.5)) continue;
      rules.push(
        aRule(pattern, {
          concurrency: this.random.chance(0.6) ? 1 + this.random.below(5) : undefined,
          rate: this.random.chance(0.4)
            ? { limit: 1 + this.random.below(5), periodMs: 1_000, burst: 1 + this.random.below(3) }
            : undefined,
          weight: 1 + this.random.below(3),
          priority: this.random.chance(0.2) ? 1 + this.random.below(5) : undefined,
        }),
      );
    }
    return rules;
  }

  ruleOf(level: string): FlowRule | undefined {
    const [scope = "", l1, l2] = level.split("/");
    return this.book.ruleFor(scope, l1, l2);
  }

  usage(level: string): number {
    let count = 0;
    for (const { subject, state } of this.entries.values()) if (state !== "waiting" && levelsOf(subject).includes(level)) count++;
    return count;
  }

  isPaused({ service, scope, limitKey }: FlowSubject): boolean {
    return this.paused.has(vqueueId({ service, scope, limitKey, lockKey: undefined }));
  }

  step(): void {
    const { random, scheduler } = this;
    const all = [...this.entries.values()];
    const some = all[random.below(Math.max(1, all.length))];
    switch (random.below(12)) {
      case 0:
      case 1:
      case 2: {
        const subject: FlowSubject = {
          id: `i${this.#count++}` as InvocationId,
          service: random.pick(SERVICES),
          scope: random.pick(SCOPES),
          limitKey: random.pick(KEYS),
          priority: random.pick([1, 3, 3, 3, 5]),
        };
        const isWoken = random.chance(0.2);
        this.entries.set(subject.id, { subject, state: "waiting", isWoken, sinceMs: this.nowMs, gone: false });
        return scheduler.request(subject, this.nowMs, isWoken);
      }
      case 3: {
        const subject: FlowSubject = {
          id: `i${this.#count++}` as InvocationId,
          service: "S",
          scope: "s2",
          limitKey: "c",
          priority: 3,
        };
        this.entries.set(subject.id, { subject, state: "running", isWoken: false, sinceMs: this.nowMs, gone: false });
        return scheduler.started(subject);
      }
      case 4:
      case 5:
      case 6:
        if (some !== undefined) this.move(some);
        return;
      case 7: {
        const queue = {
          service: random.pick(SERVICES),
          scope: random.pick(SCOPES),
          limitKey: random.pick(KEYS),
          lockKey: undefined,
        };
        const id = vqueueId(queue);
        const pause = !this.paused.has(id) && random.chance(0.3);
        if (pause) this.paused.add(id);
        else this.paused.delete(id);
        return scheduler.switchQueue(id, pause);
      }
      case 8:
        if (random.chance(0.1)) {
          this.rules = this.drawRules();
          this.book = new RuleBook(this.rules);
          this.draws.clear();
          this.changedAtMs = this.nowMs;
          scheduler.setRules(this.book, this.nowMs);
        }
        return;
      default:
        this.nowMs += random.below(400);
        return this.admit();
    }
  }

  move(entry: ModelEntry): void {
    const { subject } = entry;
    switch (entry.state) {
      case "waiting":
        this.entries.delete(subject.id);
        return this.scheduler.left(subject.id);
      case "running":
        this.scheduler.left(subject.id);
        this.entries.delete(subject.id);
        return;
      case "admitting":
        if (!entry.gone && this.random.chance(0.2)) {
          entry.gone = true;
          return this.scheduler.left(subject.id);
        }
        if (entry.gone || this.random.chance(0.1)) {
          this.scheduler.unused(subject.id);
          if (entry.gone) this.entries.delete(subject.id);
          else entry.state = "waiting";
          return;
        }
        entry.state = "running";
        return this.scheduler.started(subject);
    }
  }

  admit(): void {
    do {
      for (const { id, buckets } of this.scheduler.admit(this.nowMs)) {
        const entry = this.entries.get(id) as ModelEntry;
        expect(entry.state).toBe("waiting");
        expect(this.isPaused(entry.subject)).toBe(false);
        entry.state = "admitting";
        for (const level of levelsOf(entry.subject)) {
          const limit = this.ruleOf(level)?.concurrency;
          if (limit !== undefined && this.usage(level) > limit) throw new Error(`${level} is above its limit`);
        }
        const drawn = entry.isWoken ? [] : levelsOf(entry.subject).filter((level) => this.ruleOf(level)?.rate !== undefined);
        expect(buckets.map(({ name }) => name).sort()).toEqual(drawn.sort());
        for (const level of drawn) this.draws.set(level, [...(this.draws.get(level) ?? []), this.nowMs]);
      }
    } while (this.scheduler.hasMore);
    this.noneCouldStart();
    this.ratesHold();
  }

  /** Each waiting entry is blocked by a pause, a full level, or (new ones) a bucket whose next start is not due. */
  noneCouldStart(): void {
    for (const { subject, state, isWoken } of this.entries.values()) {
      if (state !== "waiting" || this.isPaused(subject)) continue;
      const held = levelsOf(subject).some((level) => {
        const rule = this.ruleOf(level);
        if (rule?.concurrency !== undefined && this.usage(level) >= rule.concurrency) return true;
        return !isWoken && rule?.rate !== undefined && this.isDrawnOut(level, rule.rate);
      });
      if (!held) throw new Error(`${subject.id} of ${levelsOf(subject).at(-1)} could start`);
    }
  }

  /** By the draws alone: whether one more start now would exceed the rate. Draws of unused admissions count as well. */
  isDrawnOut(level: string, { limit, periodMs, burst }: NonNullable<FlowRule["rate"]>): boolean {
    const times = this.draws.get(level) ?? [];
    const next = this.nowMs;
    if (next < this.changedAtMs + burst * periodMs) return true;
    return times.some((from, at) => times.length - at + 1 > burst + ((next - from) * limit) / periodMs);
  }

  ratesHold(): void {
    for (const [level, times] of this.draws) {
      const rate = this.ruleOf(level)?.rate;
      if (rate === undefined) continue;
      const last = times.length - 1;
      for (let from = Math.max(0, last - 60); from <= last; from++) {
        const windowMs = (times[last] as number) - (times[from] as number);
        expect(last - from + 1).toBeLessThanOrEqual(rate.burst + (windowMs * rate.limit) / rate.periodMs + 1e-6);
      }
    }
  }
}

test("never above a limit or a rate, and every free slot is used, whatever happens", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const model = new Model(seed);
    try {
      for (let step = 0; step < 400; step++) model.step();
    } catch (cause) {
      throw new Error(`seed ${seed}`, { cause });
    }
    // At the end all entries leave, and no node is left.
    for (const queue of [...model.paused]) model.scheduler.switchQueue(queue as ReturnType<typeof vqueueId>, false);
    model.scheduler.setRules(RuleBook.EMPTY, model.nowMs);
    for (const { subject, state } of model.entries.values()) {
      model.scheduler.left(subject.id);
      if (state === "admitting") model.scheduler.unused(subject.id);
    }
    expect(model.scheduler.isEmpty).toBe(true);
    expect(model.scheduler.nextAtMs).toBeUndefined();
  }
});

describe("between limit keys", () => {
  /** One slot, keys with work without end; returns how often each key was served. */
  function serve(scheduler: FlowScheduler, keys: readonly string[], rounds: number, load: (key: string) => number): string[] {
    let count = 0;
    const refill = (key: string): void =>
      scheduler.request(
        { id: `${key}:${count++}` as InvocationId, service: "S", scope: "s1", limitKey: key, priority: 3 },
        NOW,
        false,
      );
    for (const key of keys) for (let n = 0; n < load(key); n++) refill(key);
    const served: string[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const { id } of scheduler.admit(NOW + round)) {
        const key = id.slice(0, id.indexOf(":"));
        served.push(key);
        refill(key);
        scheduler.started({ id, service: "S", scope: "s1", limitKey: key, priority: 3 });
        scheduler.left(id);
      }
    }
    return served;
  }
  const countOf = (served: readonly string[], key: string): number => served.filter((each) => each === key).length;

  test("a heavy one cannot starve a light one: it is served in its turn", () => {
    const scheduler = new FlowScheduler(new RuleBook([aRule("s1", { concurrency: 1 })]));
    const served = serve(scheduler, ["heavy", "light", "lighter"], 300, (key) => (key === "heavy" ? 10_000 : 1));
    for (const key of ["heavy", "light", "lighter"]) expect(countOf(served, key)).toBe(100);
    for (let at = 0; at + 3 <= served.length; at += 3) expect(new Set(served.slice(at, at + 3)).size).toBe(3);
  });

  test("a late key is not behind the backlog of the others", () => {
    const scheduler = new FlowScheduler(new RuleBook([aRule("s1", { concurrency: 1 })]));
    serve(scheduler, ["heavy"], 500, () => 10_000);
    scheduler.request({ id: "late" as InvocationId, service: "S", scope: "s1", limitKey: "late", priority: 5 }, NOW, false);
    const next: string[] = [];
    for (let n = 0; n < 2; n++) {
      for (const { id } of scheduler.admit(NOW + 1_000)) {
        next.push(id);
        scheduler.left(id);
        scheduler.unused(id);
      }
    }
    expect(next).toContain("late");
  });

  test("weights give proportional shares, exact over any stretch to within one turn each", () => {
    const weights: Readonly<Record<string, number>> = { a: 1, b: 2, c: 5 };
    const rules = Object.entries(weights).map(([key, weight]) => aRule(`s1/${key}`, { weight }));
    const scheduler = new FlowScheduler(new RuleBook([aRule("s1", { concurrency: 1 }), ...rules]));
    const served = serve(scheduler, Object.keys(weights), 800, () => 50);
    for (const [key, weight] of Object.entries(weights)) {
      expect(countOf(served, key)).toBe(100 * weight);
      for (let from = 0; from + 80 <= served.length; from += 7) {
        const share = countOf(served.slice(from, from + 80), key);
        expect(Math.abs(share - 10 * weight)).toBeLessThanOrEqual(weight + 1);
      }
    }
  });

  test("the share that one cannot use goes to the others", () => {
    const rules = [aRule("s1", { concurrency: 4 }), aRule("s1/a", { concurrency: 1, weight: 100 })];
    const scheduler = new FlowScheduler(new RuleBook(rules));
    for (let n = 0; n < 10; n++) {
      for (const key of ["a", "b"]) {
        scheduler.request(
          { id: `${key}${n}` as InvocationId, service: "S", scope: "s1", limitKey: key, priority: 3 },
          NOW,
          false,
        );
      }
    }
    const admitted = scheduler.admit(NOW).map(({ id }) => id.slice(0, 1));
    expect(admitted.sort()).toEqual(["a", "b", "b", "b"]);
  });

  test("how long the last in line waits is bounded, whatever priority others have", () => {
    const scheduler = new FlowScheduler(new RuleBook([aRule("s1", { concurrency: 1 })]));
    const request = (name: string, sinceMs: number, priority: number): void =>
      scheduler.request({ id: name as InvocationId, service: "S", scope: "s1", limitKey: "k", priority }, sinceMs, false);
    request("patient", NOW, 5);
    let turns = 0;
    for (let nowMs = NOW; ; nowMs += 1_000) {
      request(`urgent${nowMs}`, nowMs, 1);
      const [admitted] = scheduler.admit(nowMs);
      if (admitted === undefined) continue;
      turns++;
      if (admitted.id === "patient") break;
      scheduler.started({ id: admitted.id, service: "S", scope: "s1", limitKey: "k", priority: 1 });
      scheduler.left(admitted.id);
      expect(turns).toBeLessThan(250);
    }
    expect(turns).toBe(241); // Four steps of a minute, one urgent start a second.
  });
});
