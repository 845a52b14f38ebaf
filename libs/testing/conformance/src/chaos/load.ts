/**
 * Hundreds of concurrent callers. Each retries at any gateway until it has an answer, and records what was acknowledged. After the last
 * fault everything acknowledged must have happened exactly once.
 */
import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "@perdure/base";
import type { SeededRandom } from "@perdure/testkit";
import type { HttpAnswer } from "../http.js";
import { TestIngressClient } from "../ingress-client.js";
import { ANSWER_MS, COUNTERS, LOST_AFTER_MS, TRY_AGAIN_FIRST_MS, TRY_AGAIN_LONGEST_MS, VIOLATIONS_MAX } from "./limits.js";
import type { HandlerRecord, PendingAwakeable } from "./record.js";
import { additionsOf, type ChaosJob, resolutionOf } from "./services.js";

export interface LoadOptions {
  readonly gateways: readonly string[];
  readonly record: HandlerRecord;
  readonly random: SeededRandom;
  readonly callers: number;
}

/** Statuses after which a caller retries. */
const TRY_AGAIN: ReadonlySet<number> = new Set([429, 503]);

/** A job that was sent without an idempotency key: no other job uses its counters. */
interface SentJob {
  readonly job: ChaosJob;
  /** False: no gateway acknowledged it. */
  readonly isPromised: boolean;
}

export class ChaosLoad {
  readonly violations: string[] = [];
  readonly counts = { answers: 0, retries: 0, promised: 0, unknown: 0 };
  /** Times of answers on this process's monotonic clock; the longest pause between two is the interruption for callers. */
  readonly quiet = { lastMs: performance.now(), longestMs: 0 };
  readonly #options: LoadOptions;
  readonly #clients: readonly TestIngressClient[];
  readonly #expected = new Map<string, number>();
  readonly #sent: SentJob[] = [];
  readonly #resolving = new Set<Promise<void>>();
  readonly #callers: Promise<void>[] = [];
  #isStopping = false;
  #brokenUntilMs = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#clients = options.gateways.map((url) => new TestIngressClient(url));
    options.record.onAwakeable = (waiting) => this.#resolve(waiting);
  }

  start(): void {
    const { random, callers } = this.#options;
    for (let number = 0; number < callers; number++) this.#callers.push(this.#caller(number, random.fork()));
  }

  /** Restarts the timeout for lost invocations, because a fault is or was just active. */
  excuse(): void {
    this.#brokenUntilMs = performance.now();
  }

  violated(what: string): void {
    if (this.violations.length < VIOLATIONS_MAX) this.violations.push(what);
  }

  /** Lets every caller finish its current invocation. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.excuse();
    await Promise.all(this.#callers);
    await Promise.all(this.#resolving);
  }

  /** Checks that everything acknowledged has happened and that each counter has its sum. Call after `stop`. */
  async check(): Promise<void> {
    const { record } = this.#options;
    await this.#within("what was promised ends", async () =>
      this.#sent.every(({ job, isPromised }) => !isPromised || record.endings.has(job.name)),
    ).catch(() => {
      for (const { job, isPromised } of this.#sent)
        if (isPromised && !record.endings.has(job.name)) this.violated(`${job.name} was accepted and never ended`);
    });
    for (const [counter, sum] of this.#expected) await this.#checkSum(counter, [sum]);
    for (const { job, isPromised } of this.#sent) {
      const all = additionsOf(job);
      for (const counter of job.counters)
        await this.#checkSum(counter, isPromised || record.endings.has(job.name) ? [all] : [0, all]);
    }
    for (const violation of record.violations) this.violated(violation);
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients) client[Symbol.dispose]();
  }

  async #checkSum(counter: string, sums: readonly number[]): Promise<void> {
    let sum: unknown;
    const isRight = async (): Promise<boolean> => {
      const client = this.#options.random.pick(this.#clients);
      sum = (await client.call(["ChaosCounter", counter, "sum"])).json;
      return sums.includes(sum as number);
    };
    await this.#within("the sum is right", isRight).catch(() => {
      const { record } = this.#options;
      const suspects = record.suspects(counter).slice(0, 5).join("; ");
      this.violated(
        `counter ${counter} is ${String(sum)} and not ${sums.join(" or ")}; handlers saw ${record.additions(counter)} additions, with more than one sum: ${suspects || "none"}`,
      );
    });
  }

  async #within(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (;;) {
      const isOverdue = performance.now() - this.#brokenUntilMs > LOST_AFTER_MS;
      if (await holds().catch(() => false)) return;
      if (isOverdue) throw new Error(`not in time: ${what}`);
      await delay(TRY_AGAIN_LONGEST_MS);
    }
  }

  // ── callers ────────────────────────────────────────────────────────────────────────────────────

  async #caller(number: number, random: SeededRandom): Promise<void> {
    for (let round = 0; !this.#isStopping; round++) {
      const name = `${number}.${round}`;
      try {
        await this.#oneOf(name, random);
      } catch (cause) {
        this.violated(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`);
        await delay(TRY_AGAIN_LONGEST_MS);
      }
    }
  }

  #oneOf(name: string, random: SeededRandom): Promise<void> {
    const die = random.float();
    if (die < 0.1) return this.#flow(`flow ${name}`, random);
    if (die < 0.3) return this.#promise(aJob(`sent ${name}`, random, true), random);
    const job = aJob(name, random, false);
    for (const counter of job.counters) this.#expected.set(counter, (this.#expected.get(counter) ?? 0) + additionsOf(job));
    if (die < 0.5) return this.#sendAndAttach(job, random);
    return die < 0.6 ? this.#twice(job, random) : this.#call(job, random).then((values) => this.#verify(job, values));
  }

  async #call(job: ChaosJob, random: SeededRandom): Promise<unknown> {
    const answer = await this.#insist(random, (client) =>
      client.call(["ChaosJob", "work"], job, { idempotencyKey: job.name, withinMs: ANSWER_MS }),
    );
    return this.#success(job.name, answer);
  }

  /** Two callers with one key, at any two gateways. */
  async #twice(job: ChaosJob, random: SeededRandom): Promise<void> {
    const [one, other] = await Promise.all([this.#call(job, random.fork()), this.#call(job, random.fork())]);
    this.#verify(job, one);
    this.#verify(job, other);
  }

  async #sendAndAttach(job: ChaosJob, random: SeededRandom): Promise<void> {
    const sent = await this.#insist(random, (client) =>
      client.http.request("POST", "/ChaosJob/work/send", {
        json: job,
        headers: { "idempotency-key": job.name },
        withinMs: ANSWER_MS,
      }),
    );
    if (sent.status !== 202) throw new Error(`send was answered ${sent.status} ${sent.text}`);
    this.counts.promised++;
    const { invocationId } = sent.json as { invocationId: string };
    const answer = await this.#insist(random, (client) => client.attach(invocationId, ANSWER_MS));
    this.#verify(job, this.#success(job.name, answer));
  }

  /** Sends once: without an acknowledgement it is unknown whether the job was accepted. */
  async #promise(job: ChaosJob, random: SeededRandom): Promise<void> {
    let answer: HttpAnswer | undefined;
    try {
      answer = await random.pick(this.#clients).http.request("POST", "/ChaosJob/work/send", { json: job, withinMs: ANSWER_MS });
    } catch {
      await delay(TRY_AGAIN_LONGEST_MS); // The gateway and its answer are lost.
    }
    const isPromised = answer?.status === 202;
    if (isPromised) this.#answered();
    this.counts[isPromised ? "promised" : "unknown"]++;
    this.#sent.push({ job, isPromised });
    if (answer !== undefined && !isPromised && !TRY_AGAIN.has(answer.status))
      throw new Error(`send was answered ${answer.status} ${answer.text}`);
    // There are as many jobs in progress as callers.
    const { record } = this.#options;
    const sinceMs = performance.now();
    while (isPromised && !record.endings.has(job.name)) {
      if (performance.now() - Math.max(sinceMs, this.#brokenUntilMs) > LOST_AFTER_MS) throw new Error("accepted, and not done");
      await delay(TRY_AGAIN_LONGEST_MS);
    }
  }

  async #flow(key: string, random: SeededRandom): Promise<void> {
    const sent = await this.#insist(random, (client) =>
      client.http.request("POST", `/ChaosFlow/${encodeURIComponent(key)}/run/send`, { withinMs: ANSWER_MS }),
    );
    if (sent.status !== 202) throw new Error(`a workflow was answered ${sent.status} ${sent.text}`);
    const message = `word for ${key}`;
    const said = await this.#insist(random, (client) => client.call(["ChaosFlow", key, "say"], message, { withinMs: ANSWER_MS }));
    if (said.status !== 200) throw new Error(`say was answered ${said.status} ${said.text}`);
    const answer = await this.#insist(random, (client) =>
      client.http.request("GET", `/restate/workflow/ChaosFlow/${encodeURIComponent(key)}/attach`, { withinMs: ANSWER_MS }),
    );
    const values = this.#success(key, answer) as string[];
    const expected = [...this.#options.record.values(key)];
    if (expected[1] !== message || JSON.stringify(values) !== JSON.stringify(expected))
      throw new Error(`the workflow saw ${JSON.stringify(expected)} and its caller received ${JSON.stringify(values)}`);
  }

  #resolve({ id, name }: PendingAwakeable): void {
    const random = this.#options.random.fork();
    const resolving = this.#insist(random, (client) => client.resolveAwakeable(id, resolutionOf(name))).then(
      (answer) => {
        if (answer.status !== 202 && answer.status !== 200)
          this.violated(`resolving an awakeable of ${name} was answered ${answer.status} ${answer.text}`);
      },
      (cause: unknown) => this.violated(`resolving an awakeable of ${name}: ${String(cause)}`),
    );
    const kept = resolving.finally(() => this.#resolving.delete(kept));
    this.#resolving.add(kept);
  }

  // ── answers ────────────────────────────────────────────────────────────────────────────────────

  /** Sends the request to one gateway after the other until the answer is not a reason to retry. */
  async #insist(random: SeededRandom, request: (client: TestIngressClient) => Promise<HttpAnswer>): Promise<HttpAnswer> {
    const first = random.below(this.#clients.length);
    const sinceMs = performance.now();
    let lastError = "";
    for (let turn = 0; ; turn++) {
      try {
        const answer = await request(this.#clients[(first + turn) % this.#clients.length] as TestIngressClient);
        if (!TRY_AGAIN.has(answer.status)) {
          this.#answered();
          return answer;
        }
        lastError = `${answer.status} ${answer.text}`;
      } catch (cause) {
        lastError = cause instanceof Error ? cause.message : String(cause);
      }
      this.counts.retries++;
      if (performance.now() - Math.max(sinceMs, this.#brokenUntilMs) > LOST_AFTER_MS) throw new Error(`no answer: ${lastError}`);
      await delay(backoffMs(turn, { firstMs: TRY_AGAIN_FIRST_MS, longestMs: TRY_AGAIN_LONGEST_MS }, random));
    }
  }

  #answered(): void {
    const nowMs = performance.now();
    this.counts.answers++;
    this.quiet.longestMs = Math.max(this.quiet.longestMs, nowMs - this.quiet.lastMs);
    this.quiet.lastMs = nowMs;
  }

  #success(name: string, answer: HttpAnswer): unknown {
    if (answer.status !== 200) throw new Error(`${name} was answered ${answer.status} ${answer.text}`);
    return answer.json;
  }

  /** Compares the answer with the values that the handler and its child recorded. */
  #verify(job: ChaosJob, values: unknown): void {
    const { record } = this.#options;
    const own = record.values(job.name);
    const expected = [...own.slice(0, job.steps)];
    if (job.depth > 0) expected.push(...record.values(`${job.name}+`));
    if (job.waits) expected.push(resolutionOf(job.name));
    if (
      expected.length !== job.steps * (job.depth + 1) + (job.waits ? 1 : 0) ||
      JSON.stringify(values) !== JSON.stringify(expected)
    )
      this.violated(`${job.name} saw ${JSON.stringify(expected)} and its caller received ${JSON.stringify(values)}`);
  }
}

function aJob(name: string, random: SeededRandom, isAlone: boolean): ChaosJob {
  const counter = (what: string): string => (isAlone ? `${name} ${what}` : `counter ${random.below(COUNTERS)}`);
  const called = counter("called");
  const sent = isAlone ? counter("sent") : `sent ${random.below(COUNTERS)}`;
  return {
    name,
    steps: 1 + random.below(3),
    sleepMs: random.pick([50, 300, 800, 1_500, 3_000]),
    counters: [called, sent],
    waits: random.chance(0.15),
    depth: random.chance(0.2) ? 1 : 0,
  };
}
