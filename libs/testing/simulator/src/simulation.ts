/**
 * Runs the world of one seed: faults happen while callers come, then faults stop and everything must come to rest; then time passes
 * until all retention is over, and nothing may be left.
 */

import type { FlowRule } from "@perdure/flow-control";
import { brokenInvariants } from "@perdure/state-machine";
import { KvPartitionStore, type PartitionBatch } from "@perdure/storage";
import { MirroredKeyValue } from "@perdure/storage/testing/mirrored-key-value";
import { SimulatedCaller } from "./actors/caller.js";
import { SimulatedOperator } from "./actors/operator.js";
import { Outsider } from "./actors/outsider.js";
import { RequestFactory } from "./actors/requests.js";
import { AttachingClients } from "./attach/clients.js";
import { AttachTargets } from "./attach/targets.js";
import { Cluster } from "./cluster.js";
import { drawWorld, type WorldKinds } from "./draw-world.js";
import { type SimulationFinding, SimulationFindings } from "./findings.js";
import { Pauser } from "./flow/pauser.js";
import { SimulatedRules } from "./flow/rules.js";
import { causesMissing } from "./ledger/causes.js";
import { Ledger } from "./ledger/ledger.js";
import { CALM_MS_MAX, HELP_ROUNDS_MAX, QUIET_MS, QUIET_MS_CLUSTER, SCHEDULED_START_MS, STEPS_MAX } from "./limits.js";
import type { Leaders, Surroundings } from "./reach.js";
import { drawRegistry } from "./registry.js";
import { Scheduler } from "./scheduler.js";
import { FAIR_WEATHER, type SimulationSettings } from "./settings.js";
import { snapshotOf } from "./snapshot.js";
import { ThreadedServer } from "./threads/server.js";
import { mutationText, Trace } from "./trace.js";
import { SimulatedUndoer } from "./undo/undoer.js";
import { Fleet } from "./workers/fleet.js";
import type { SimulatedWorld } from "./world.js";

export interface SimulationOptions extends WorldKinds {
  /** Keep the trace; costs time. */
  readonly trace?: boolean;
  /** Chance of reading the whole store back after a step that wrote; default 0.02. */
  readonly invariantChance?: number;
  /** Settings that replace those of the seed. */
  readonly settings?: Partial<SimulationSettings>;
}

export interface SimulationReport {
  readonly seed: number;
  readonly findings: readonly SimulationFinding[];
  readonly steps: number;
  readonly commits: number;
  readonly attempts: number;
  readonly invocations: number;
  /** Number of times that an undo restored an invocation. */
  readonly restored: number;
  /** Number of times that an undo of a state edit put entries back. */
  readonly editsUndone: number;
  /** Number of answers about invocations that handlers and clients attached to. */
  readonly attachments: number;
  /** Number of waits for a slot of a scope. */
  readonly slotWaits: number;
  /** Equal for equal seeds, whatever happened. */
  readonly fingerprint: string;
  readonly trace: readonly string[];
  readonly settings: SimulationSettings;
}

export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  await new Promise((resolve) => setImmediate(resolve)); // A running world never yields to the event loop.
  return new Simulation(options).run();
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #world: SimulatedWorld;
  readonly #kv = new MirroredKeyValue();
  readonly #store = new KvPartitionStore(this.#kv);
  readonly #cluster: Leaders;
  readonly #operator: SimulatedOperator;
  readonly #pauser: Pauser;
  readonly #undoer: SimulatedUndoer;
  readonly #rules = new SimulatedRules();
  readonly #outsider: Outsider;
  readonly #requests: RequestFactory;
  readonly #targets: AttachTargets;
  readonly #attaching: AttachingClients;
  readonly #callers: SimulatedCaller[] = [];
  #callersToCome = 0;
  #checkedCommits = 0;

  constructor(options: SimulationOptions) {
    this.#options = options;
    const scheduler = new Scheduler(options.seed);
    const settings = { ...drawWorld(options, scheduler.random), ...options.settings };
    const nowMs = (): number => scheduler.clock.monotonicMs();
    const hasWrongClocks = settings.weather.clockJumpEveryMs !== undefined;
    const wallMs = hasWrongClocks ? undefined : (): number => scheduler.clock.nowMs();
    const findings = new SimulationFindings(nowMs);
    const trace = new Trace(options.trace === true, nowMs);
    this.#world = {
      scheduler,
      settings,
      findings,
      ledger: new Ledger(findings, nowMs, wallMs),
      trace,
      weather: settings.weather,
    };
    const registry = drawRegistry(scheduler, settings, this.#rules);
    this.#targets = new AttachTargets(this.#world);
    this.#requests = new RequestFactory(this.#world, registry, this.#targets);
    this.#outsider = new Outsider(this.#world, () => this.#cluster);
    const surroundings: Surroundings = {
      world: this.#world,
      store: this.#store,
      registry,
      outside: this.#outsider,
      applied: (batches) => this.#applied(batches),
    };
    if (settings.threads !== undefined) this.#cluster = new ThreadedServer(surroundings, settings.threads);
    else if (settings.cluster !== undefined) this.#cluster = new Fleet(surroundings, settings.cluster);
    else this.#cluster = new Cluster(surroundings);
    this.#operator = new SimulatedOperator(this.#world, this.#cluster);
    this.#attaching = new AttachingClients(this.#world, this.#cluster);
    this.#pauser = new Pauser(this.#world, this.#cluster);
    this.#undoer = new SimulatedUndoer(this.#world, this.#cluster);
    this.#world.ledger.flow.pausedQueues = this.#pauser.paused;
  }

  async run(): Promise<SimulationReport> {
    const { scheduler, settings, findings, ledger, trace } = this.#world;
    try {
      await this.#live();
    } catch (cause) {
      findings.report("the simulation itself continues", cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));
    }
    return {
      seed: this.#options.seed,
      findings: findings.all,
      steps: scheduler.steps,
      commits: ledger.commits,
      attempts: ledger.attempts.count,
      invocations: [...ledger.generations()].length,
      restored: [...ledger.generations()].reduce((sum, { restoredCount }) => sum + restoredCount, 0),
      editsUndone: ledger.undo.edits.undoneCount,
      attachments: ledger.attachments.answeredCount,
      slotWaits: ledger.flow.waits,
      fingerprint: trace.fingerprint,
      trace: trace.lines,
      settings,
    };
  }

  async #live(): Promise<void> {
    const { scheduler, settings, findings, trace } = this.#world;
    this.#flowHappens();
    this.#cluster.start();
    this.#callersCome();
    this.#addScheduledInvocations();
    this.#attaching.come(this.#targets);
    await this.#until(() => scheduler.clock.monotonicMs() >= settings.stormMs && this.#callersToCome === 0);
    this.#world.weather = FAIR_WEATHER;
    trace.note("calm", () => "the weather turns fair");
    this.#cluster.calm();
    await this.#comeToRest();
    await this.#checkAllRows(Array.from({ length: settings.partitionCount }, (_, partition) => partition));
    if (findings.first === undefined) await this.#endRetention();
  }

  // ── events of the storm ────────────────────────────────────────────────────────────────────────

  #callersCome(): void {
    const { scheduler, settings } = this.#world;
    const { random } = scheduler;
    this.#callersToCome = settings.callers;
    for (let n = 0; n < settings.callers; n++) {
      scheduler.after(settings.stormMs * random.float() * random.float(), () => {
        this.#callersToCome--;
        const caller = new SimulatedCaller(this.#world, this.#cluster, `caller${n}`, this.#requests.draw(), random.chance(0.8));
        this.#callers.push(caller);
        this.#world.trace.note("request", () => `${caller.name} ${caller.command.id} ${inputText(caller.command.input)}`);
        caller.go();
      });
    }
    for (let n = 0; n < settings.operatorActions; n++) {
      scheduler.after(settings.stormMs * random.float(), () => this.#operator.act());
    }
    const { undo } = settings;
    for (let n = 0; undo !== undefined && n < undo.changes; n++) {
      scheduler.after(settings.stormMs * random.float(), () => this.#undoer.act(undo));
    }
  }

  /** Callers of a crowd, all of whose invocations start at one moment when the storm is over. */
  #addScheduledInvocations(): void {
    const { scheduler, settings } = this.#world;
    const { crowd, stormMs } = settings;
    if (crowd === undefined) return;
    const atMs = scheduler.clock.nowMs() + stormMs + SCHEDULED_START_MS;
    this.#callersToCome += crowd.scheduledInvocations;
    for (let n = 0; n < crowd.scheduledInvocations; n++) {
      scheduler.after(stormMs * scheduler.random.float(), () => {
        this.#callersToCome--;
        const caller = new SimulatedCaller(
          this.#world,
          this.#cluster,
          `scheduled${n}`,
          this.#requests.scheduledInvocation(0, atMs),
          false,
        );
        this.#callers.push(caller);
        caller.go();
      });
    }
  }

  /** Rules change evenly over the storm; queues are paused at any time in it. */
  #flowHappens(): void {
    const { scheduler, settings } = this.#world;
    const { flow, stormMs } = settings;
    if (flow === undefined) return;
    for (const [n, rules] of flow.ruleBooks.entries()) {
      if (n === 0) this.#changeRules(rules);
      else scheduler.after((stormMs * n) / flow.ruleBooks.length, () => this.#changeRules(rules));
    }
    for (let n = 0; n < flow.pauses; n++) scheduler.after(stormMs * scheduler.random.float(), () => this.#pauser.act());
  }

  #changeRules(rules: readonly FlowRule[]): void {
    const { ledger, trace } = this.#world;
    trace.note("rules", () => JSON.stringify(rules));
    ledger.flow.rulesChanged(rules);
    this.#rules.change(rules);
  }

  #applied(batches: readonly PartitionBatch[]): void {
    const { ledger, trace } = this.#world;
    trace.note("commit", () =>
      batches
        .map(({ partition, epoch, mutations }) => `p${partition}@${epoch}: ${mutations.map(mutationText).join("; ")}`)
        .join(" | "),
    );
    ledger.applied(batches);
  }

  /** Runs events until the condition holds, a finding is reported, or the bound is reached. */
  async #until(condition: () => boolean): Promise<void> {
    const { scheduler, findings, ledger } = this.#world;
    const chance = this.#options.invariantChance ?? 0.02;
    let isFirst = true;
    let broken: readonly number[] = [];
    const isOver = (): boolean => {
      if (!isFirst) {
        this.#cluster.check();
        if (ledger.commits !== this.#checkedCommits && scheduler.random.chance(chance)) broken = this.#brokenPartitions();
        if (broken.length > 0) return true;
      }
      isFirst = false;
      return findings.first !== undefined || condition() || scheduler.steps >= STEPS_MAX;
    };
    if (!(await scheduler.run(isOver))) return findings.report("a world continues", "nothing is left to happen");
    if (broken.length > 0) {
      await this.#checkAllRows(broken);
      return this.#until(condition);
    }
    if (scheduler.steps >= STEPS_MAX && findings.first === undefined && !condition())
      findings.report("a world comes to rest", `after ${STEPS_MAX} steps: ${this.#unfinishedText()}`);
  }

  /** Checks the rows that changed; returns the partitions of which a rule seems to be broken. */
  #brokenPartitions(): readonly number[] {
    const { settings, ledger } = this.#world;
    this.#checkedCommits = ledger.commits;
    const broken: number[] = [];
    for (let partition = 0; partition < settings.partitionCount; partition++) {
      const changed = this.#kv.changed(partition);
      if (changed !== undefined && brokenInvariants(changed).length > 0) broken.push(partition);
    }
    return broken;
  }

  /** Checks all rows of these partitions, which are read through the store. */
  async #checkAllRows(partitions: Iterable<number>): Promise<void> {
    this.#checkedCommits = this.#world.ledger.commits;
    for (const partition of partitions)
      for (const broken of brokenInvariants(await snapshotOf(this.#store, partition)))
        this.#world.findings.report("invariants hold", broken);
  }

  // ── end of the world ───────────────────────────────────────────────────────────────────────────

  /**
   * Runs until all callers have responses, all invocations are finished and no message is pending. Completes what killed invocations
   * were to complete, after checking that they were killed.
   */
  async #comeToRest(): Promise<void> {
    const { scheduler, settings, findings, ledger } = this.#world;
    const quietMs = settings.cluster === undefined ? QUIET_MS : QUIET_MS_CLUSTER;
    const deadlineMs = scheduler.clock.monotonicMs() + CALM_MS_MAX;
    for (let round = 0; round < HELP_ROUNDS_MAX; round++) {
      let commits = ledger.commits;
      let quietSinceMs = scheduler.clock.monotonicMs();
      const quiet = (): boolean => {
        if (ledger.commits !== commits) {
          commits = ledger.commits;
          quietSinceMs = scheduler.clock.monotonicMs();
        }
        return scheduler.clock.monotonicMs() - quietSinceMs > quietMs;
      };
      await this.#until(() => this.#atRest() || quiet() || scheduler.clock.monotonicMs() > deadlineMs);
      if (this.#atRest() || findings.first !== undefined) break;
      this.#help();
    }
    if (findings.first === undefined && !this.#atRest()) findings.report("a world comes to rest", this.#unfinishedText());
  }

  #atRest(): boolean {
    const { ledger } = this.#world;
    if (this.#undoer.busy || this.#attaching.busy) return false;
    if (this.#outsider.busy || this.#pauser.paused.size > 0 || ledger.undeliveredCount > 0 || this.#cluster.closing.length > 0)
      return false;
    for (const caller of this.#callers) if (!caller.done) return false;
    return !ledger.hasUnfinished;
  }

  /** Ends waits after nothing has happened for long. Every wait must have a reason; then operators and external clients end it. */
  #help(): void {
    const { ledger, findings, trace } = this.#world;
    const unfinished = [...ledger.unfinished()];
    for (const missing of causesMissing(ledger, this.#pauser.paused))
      findings.report("a waiting invocation has something to wait for", missing);
    if (unfinished.length === 0) findings.report("a world comes to rest", this.#unfinishedText());
    const paused = unfinished.filter((generation) => generation.invocation.status === "paused");
    trace.note("help", () => unfinished.map((generation) => `${generation.id} ${generation.invocation.status}`).join());
    for (const generation of paused) this.#operator.do("resume", generation);
    if (paused.length > 0) return;
    for (const generation of unfinished)
      if (generation.invocation.status === "suspended" || generation.invocation.status === "invoked")
        this.#operator.do("cancel", generation);
  }

  #unfinishedText(): string {
    const { ledger } = this.#world;
    const generations = [...ledger.unfinished()].map((generation) => `${generation.id} ${generation.invocation.status}`);
    const callers = this.#callers.filter((caller) => !caller.done).map((caller) => caller.state);
    const undelivered = ledger.undeliveredCount > 0 ? [`${ledger.undeliveredCount} messages are pending`] : [];
    const outside = this.#outsider.busy ? ["outsiders are busy"] : [];
    const closing = this.#cluster.closing.map((name) => `${name} never ends closing`);
    return [...generations, ...callers, ...this.#attaching.unfinished, ...undelivered, ...outside, ...closing].join("; ");
  }

  // ── retention ──────────────────────────────────────────────────────────────────────────────────

  /** Ends all retention. After that only permanent rows may be left: epochs, deduplication, state. */
  async #endRetention(): Promise<void> {
    const { scheduler, settings, findings, ledger } = this.#world;
    const untilMs = scheduler.clock.monotonicMs() + 2 * settings.retentionMs + 3 * settings.cleanupIntervalMs;
    await this.#until(() => scheduler.clock.monotonicMs() >= untilMs);
    if (findings.first !== undefined) return;
    ledger.debounce.retentionIsOver();
    ledger.state.throttle.allIsOver();
    ledger.state.ttls.allIsOver(ledger.state.objects, settings.stateTtl === undefined);
    findings.require(ledger.undo.noteCount === 0, "records of undo end", () => `${ledger.undo.noteCount} are left`);
    const stays = /^..([edsp])/; // State and promises of a workflow key may also be written after its run is deleted.
    const left = [...this.#kv.snapshot().keys()].filter((key) => !stays.test(key));
    findings.require(left.length === 0, "expired rows are deleted", () =>
      left
        .slice(0, 5)
        .map((key) => JSON.stringify(key))
        .join(),
    );
  }
}

/** Returns the program without the frame around it. */
function inputText(input: Uint8Array): string {
  const text = Buffer.from(input).toString();
  return text.slice(text.indexOf("{"));
}
