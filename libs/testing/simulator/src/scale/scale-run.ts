/**
 * One large cluster, in which workers fail one after the other while callers come: measures in virtual time how long partitions are without
 * a leader, and how long it takes until every worker leads its share again. The workers are those of other worlds, with their leadership,
 * processors, invokers and links, and the same ledger checks what becomes durable.
 */
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { SeededRandom } from "@perdure/testkit";
import { SimulatedCaller } from "../actors/caller.js";
import { Outsider } from "../actors/outsider.js";
import { RequestFactory } from "../actors/requests.js";
import { AttachTargets } from "../attach/targets.js";
import { type SimulationFinding, SimulationFindings } from "../findings.js";
import { SimulatedRules } from "../flow/rules.js";
import { Ledger } from "../ledger/ledger.js";
import { drawRegistry } from "../registry.js";
import { Scheduler } from "../scheduler.js";
import { drawSettings, FAIR_WEATHER, type SimulationSettings } from "../settings.js";
import { Trace } from "../trace.js";
import { Fleet } from "../workers/fleet.js";
import { FAIR_CLUSTER_WEATHER, LeasePace } from "../workers/settings.js";
import type { SimulatedWorker } from "../workers/worker.js";
import type { SimulatedWorld } from "../world.js";
import { LeaderGaps } from "./leader-gaps.js";
import { type Quantiles, quantilesOf } from "./quantiles.js";

/** Kinds of failures, which take turns: killed at once · drained (SIGTERM) · stopped for longer than a lease, and continued. */
const FAILURE_KINDS = ["kill", "drain", "freeze"] as const;
type FailureKind = (typeof FAILURE_KINDS)[number];

export interface ScaleOptions {
  readonly seed: number;
  readonly partitions: number;
  readonly workers: number;
  /** Number of failures, one after the other. */
  readonly failures: number;
  /** Callers that come evenly while workers fail. */
  readonly callers: number;
}

interface MeasuredFailure {
  readonly kind: FailureKind;
  /** Number of partitions that the worker led. */
  readonly partitions: number;
  /** Time of each of these partitions without a leader. */
  readonly gapsMs: readonly number[];
  /** Time until the worker is back and every worker leads its share; undefined: not before the next failure. */
  readonly balancedAfterMs: number | undefined;
}

export interface ScaleReport {
  readonly options: ScaleOptions;
  readonly findings: readonly SimulationFinding[];
  /** From the start of all workers until every partition has a leader, and until the numbers of workers differ by at most one. */
  readonly startMs: { readonly allHaveLeaders: number; readonly balanced: number };
  readonly failures: readonly {
    readonly kind: FailureKind;
    readonly count: number;
    readonly gapMs: Quantiles;
    readonly balancedMs: Quantiles;
    readonly unbalanced: number;
  }[];
  /** Partitions of other workers that were handed over to restore the balance: time of each without a leader. */
  readonly rebalanceGapMs: Quantiles;
  readonly invocations: number;
  readonly commits: number;
  readonly virtualMs: number;
  readonly steps: number;
}

/** Interval of samples: all reported times are multiples of it. */
const SAMPLE_MS = 10;
/** Time between two failures: longer than a lease, a restart and the hand-overs after it. */
const FAILURE_EVERY_MS = 8_000;
/** Time within which all workers of a start, and all callers at the end, must be ready. */
const CONVERGE_MS_MAX = 60_000;
const END_MS_MAX = 10 * 60_000;
const RESTART_MS = 2_000;
const POLL_MS = 250;

export async function simulateScale(options: ScaleOptions): Promise<ScaleReport> {
  await new Promise((resolve) => setImmediate(resolve)); // A running world never yields to the event loop.
  return new ScaleRun(options).run();
}

class ScaleRun {
  readonly #options: ScaleOptions;
  readonly #world: SimulatedWorld;
  readonly #fleet: Fleet;
  readonly #requests: RequestFactory;
  readonly #callers: SimulatedCaller[] = [];
  readonly #gaps: LeaderGaps;
  readonly #measured: MeasuredFailure[] = [];
  readonly #rebalanceGapsMs: number[] = [];

  constructor(options: ScaleOptions) {
    this.#options = options;
    const scheduler = new Scheduler(options.seed);
    const settings = settingsOf(options);
    const nowMs = (): number => scheduler.clock.monotonicMs();
    const findings = new SimulationFindings(nowMs);
    const ledger = new Ledger(findings, nowMs, () => scheduler.clock.nowMs());
    const trace = new Trace(false, nowMs);
    this.#world = { scheduler, settings, findings, ledger, trace, weather: FAIR_WEATHER };
    const registry = drawRegistry(scheduler, settings, new SimulatedRules());
    this.#requests = new RequestFactory(this.#world, registry, new AttachTargets(this.#world));
    const outsider = new Outsider(this.#world, () => this.#fleet);
    const { cluster } = settings;
    if (cluster === undefined) throw new Error("a run of scale needs the settings of a cluster");
    const store = new KvPartitionStore(new MemoryKeyValue());
    this.#fleet = new Fleet(
      { world: this.#world, store, registry, outside: outsider, applied: (batches) => ledger.applied(batches) },
      cluster,
    );
    this.#gaps = new LeaderGaps(options.partitions, 0);
  }

  async run(): Promise<ScaleReport> {
    const { scheduler, findings, ledger } = this.#world;
    this.#sampleLater();
    this.#fleet.start();
    const allHaveLeaders = await this.#until(() => this.#gaps.open === 0, CONVERGE_MS_MAX, "every partition gets a leader");
    const balanced = await this.#until(() => this.#gaps.isBalanced, CONVERGE_MS_MAX, "every worker gets its share");
    this.#callersCome();
    for (let n = 0; n < this.#options.failures && findings.first === undefined; n++) await this.#fail(n);
    await this.#until(() => this.#areServed, END_MS_MAX, "every caller gets a response");
    return {
      options: this.#options,
      findings: findings.all,
      startMs: { allHaveLeaders, balanced },
      failures: FAILURE_KINDS.map((kind) => this.#summary(kind)),
      rebalanceGapMs: quantilesOf(this.#rebalanceGapsMs),
      invocations: [...ledger.generations()].length,
      commits: ledger.commits,
      virtualMs: this.#nowMs,
      steps: scheduler.steps,
    };
  }

  get #nowMs(): number {
    return this.#world.scheduler.clock.monotonicMs();
  }

  get #areServed(): boolean {
    return this.#callers.length === this.#options.callers && this.#callers.every(({ done }) => done);
  }

  #sampleLater(): void {
    this.#world.scheduler.after(SAMPLE_MS, () => {
      this.#gaps.sample(this.#fleet.workers(), this.#nowMs);
      this.#sampleLater();
    });
  }

  /** Runs until the condition holds; returns the time at which it does. Reports a finding when it does not in time. */
  async #until(condition: () => boolean, forMs: number, rule: string): Promise<number> {
    const { scheduler, findings } = this.#world;
    const endMs = this.#nowMs + forMs;
    await scheduler.run(() => condition() || findings.first !== undefined || this.#nowMs > endMs);
    findings.require(condition(), rule, () => `not within ${forMs} ms: ${this.#gaps.open} partitions are without a leader`);
    return this.#nowMs;
  }

  #callersCome(): void {
    const { scheduler } = this.#world;
    const { callers, failures } = this.#options;
    for (let n = 0; n < callers; n++) {
      scheduler.after((failures * FAILURE_EVERY_MS * n) / callers, () => {
        const caller = new SimulatedCaller(this.#world, this.#fleet, `caller${n}`, this.#requests.draw(), true);
        this.#callers.push(caller);
        caller.go();
      });
    }
  }

  /** One worker fails, and is measured until the next failure. */
  async #fail(number: number): Promise<void> {
    const { scheduler, findings } = this.#world;
    const kind = FAILURE_KINDS[number % FAILURE_KINDS.length] ?? "kill";
    const workers = this.#fleet.workers();
    const worker = scheduler.random.pick(workers);
    const partitions = new Set(worker.leading);
    const fromMs = this.#nowMs;
    const gapsBefore = this.#gaps.closed.length;
    this.#inject(kind, worker);
    let wasDisturbed = false;
    let balancedAfterMs: number | undefined;
    await scheduler.run(() => {
      const isWhole = this.#gaps.isBalanced && this.#fleet.workers().length === this.#options.workers;
      if (!isWhole) wasDisturbed = true;
      else if (wasDisturbed) balancedAfterMs ??= this.#nowMs - fromMs;
      return findings.first !== undefined || this.#nowMs >= fromMs + FAILURE_EVERY_MS;
    });
    const gapsMs: number[] = [];
    for (const gap of this.#gaps.closed.slice(gapsBefore)) {
      const forMs = gap.untilMs - gap.fromMs;
      // The first gap of each of these partitions belongs to the failure; a later one is the way back.
      if (partitions.delete(gap.partition)) gapsMs.push(forMs);
      else this.#rebalanceGapsMs.push(forMs);
    }
    this.#measured.push({ kind, partitions: gapsMs.length, gapsMs, balancedAfterMs });
  }

  #inject(kind: FailureKind, worker: SimulatedWorker): void {
    switch (kind) {
      case "kill":
        return worker.body.end("is killed");
      case "drain":
        return this.#fleet.leave(worker);
      case "freeze":
        return worker.body.pause(2 * new LeasePace(POLL_MS).leaseMs);
    }
  }

  #summary(kind: FailureKind): ScaleReport["failures"][number] {
    const measured = this.#measured.filter((failure) => failure.kind === kind);
    const balancedMs = measured.flatMap(({ balancedAfterMs }) => balancedAfterMs ?? []);
    return {
      kind,
      count: measured.length,
      gapMs: quantilesOf(measured.flatMap(({ gapsMs }) => gapsMs)),
      balancedMs: quantilesOf(balancedMs),
      unbalanced: measured.length - balancedMs.length,
    };
  }
}

/** A cluster with the times of a real one: polls of 250 ms, commits of some milliseconds, and no faults but those that the run injects. */
function settingsOf({ seed, partitions, workers, callers }: ScaleOptions): SimulationSettings {
  return {
    ...drawSettings(new SeededRandom(seed)),
    partitionCount: partitions,
    groups: [],
    weather: FAIR_WEATHER,
    commitMs: 2,
    readMs: 1,
    networkMs: 0.5,
    endpointMs: 3,
    protocolVersionMax: 7,
    concurrentInvocationsMax: 1_000,
    eagerStateBytesMax: 1 << 20,
    objects: Math.max(1, Math.trunc(callers / 4)),
    callers,
    operatorActions: 0,
    retentionMs: 40 * 60_000,
    cleanupIntervalMs: 30 * 60_000,
    flow: undefined,
    crowd: undefined,
    cluster: { workers, gateways: 2, pollMs: POLL_MS, restartMs: RESTART_MS, weather: FAIR_CLUSTER_WEATHER },
  };
}
