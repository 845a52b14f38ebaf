/** All processes of a simulated cluster: starts them, injects faults, and knows at every moment which worker is the rightful leader. */
import type { InvocationId } from "@perdure/base";
import type { Leaders, Reached, Surroundings } from "../reach.js";
import { partitionFor, type SimulatedWorld } from "../world.js";
import { SimulatedGateway } from "./gateway.js";
import { Medium } from "./medium.js";
import { SimulatedNetwork } from "./network.js";
import { type ClusterWeather, LeasePace, type SimulatedClusterSettings } from "./settings.js";
import { SimulatedWorker, type Term, type WorkerPorts } from "./worker.js";

/** Pause before a process that ended is started again. */
const RESTART_MS = 1_000;
/** Maximum duration of a cut or an outage. */
const CUT_MS = 6_000;
const OUTAGE_MS = 3_000;
/** Maximum time until the data of an emptied store are restored. */
const EMPTIED_MS = 4_000;
/** Maximum delay of changes of leaders, and of repeated messages. */
const STALE_MS = 3_000;
const REPEATED_AFTER_MS = 3_000;
/** Maximum duration of a hand-over under way and of the reads of a new leader together. */
const LEAD_MS_MAX = 6_000;
/** Interval of polls when faults are over: most of the later events of a world are polls. A hand-over takes two of them. */
const SLOW_POLL_MS = 30_000;
/** Number of polls, and of checks in them, in which every partition has a leader before polls become slow. */
const STABLE_POLLS = 12;
const STABLE_CHECKS = 3;

interface WorkerPlace {
  readonly name: string;
  worker: SimulatedWorker | undefined;
  /** Number of processes started here so far. */
  count: number;
}

export class Fleet implements Leaders {
  readonly #world: SimulatedWorld;
  readonly #cluster: SimulatedClusterSettings;
  readonly #pace: LeasePace;
  readonly #medium: Medium;
  readonly #network: SimulatedNetwork;
  readonly #workerPorts: WorkerPorts;
  readonly #places: WorkerPlace[] = [];
  readonly #gateways: SimulatedGateway[] = [];
  #gatewayCount = 0;
  readonly #leaving = new Set<SimulatedWorker>();
  /** The latest claim that was carried out, and the claims under way. */
  readonly #latest = new Map<number, Term>();
  readonly #claiming = new Map<string, Term>();
  #weather: ClusterWeather | undefined;

  constructor(surroundings: Surroundings, cluster: SimulatedClusterSettings) {
    const { world, store, registry, outside, applied } = surroundings;
    this.#world = world;
    this.#cluster = cluster;
    this.#pace = new LeasePace(cluster.pollMs);
    this.#weather = cluster.weather;
    this.#network = new SimulatedNetwork(world);
    const claimed = (partition: number, epoch: number, worker: string): void => {
      const term = this.#claiming.get(`${worker} p${partition}`);
      if (term !== undefined) this.#latest.set(partition, term);
      world.trace.note("claim", () => `${worker} leads p${partition} under epoch ${epoch}`);
      world.ledger.flow.leaderChanged();
    };
    this.#medium = new Medium(world, store, this.#pace, { claimed, applied });
    this.#workerPorts = {
      world,
      pace: this.#pace,
      medium: this.#medium,
      network: this.#network,
      registry,
      outside,
      claiming: (term) => this.#claiming.set(term.name, term),
      isLatest: (partition, term) => this.#latest.get(partition) === term,
      arrived: (again, id) => this.#maybeAgain(again, id),
    };
  }

  // ── view of callers ────────────────────────────────────────────────────────────────────────────

  leaderFor(_id: InvocationId): Reached | undefined {
    const able = this.#gateways.filter(({ body }) => body.alive);
    return able.length === 0 ? undefined : this.#world.scheduler.random.pick(able);
  }

  get closing(): readonly string[] {
    return [...this.#leaving].filter(({ body }) => body.alive).map(({ body }) => body.name);
  }

  /** Slots are checked in worlds of leaders only: a worker may be stopped for seconds, and requests nothing meanwhile. */
  check(): void {}

  start(): void {
    for (let n = 0; n < this.#cluster.gateways; n++) this.#startGateway();
    for (let n = 0; n < this.#cluster.workers; n++) {
      const place: WorkerPlace = { name: `w${n}`, worker: undefined, count: 0 };
      this.#places.push(place);
      this.#startWorker(place);
    }
    this.#startWeather();
  }

  // ── processes ──────────────────────────────────────────────────────────────────────────────────

  #startWorker(place: WorkerPlace): void {
    const worker = new SimulatedWorker(place.name, ++place.count, this.#workerPorts);
    place.worker = worker;
    worker.directory.onChange(() => {
      for (const gateway of this.#gateways) this.#publishDirectory(worker, gateway);
    });
    worker.body.onEnd(() => {
      if (place.worker === worker) this.#restartLater(place);
    });
    worker.start().then(undefined, () => worker.body.end("could not start"));
  }

  #restartLater(place: WorkerPlace): void {
    const { scheduler } = this.#world;
    place.worker = undefined;
    scheduler.after((this.#cluster.restartMs ?? RESTART_MS) * scheduler.random.float(), () => {
      if (place.worker === undefined) this.#startWorker(place);
    });
  }

  #startGateway(): void {
    const gateway = new SimulatedGateway("g", ++this.#gatewayCount, this.#world, this.#network);
    this.#gateways.push(gateway);
    gateway.body.onEnd(() => {
      this.#gateways.splice(this.#gateways.indexOf(gateway), 1);
      const { scheduler } = this.#world;
      scheduler.after(RESTART_MS * scheduler.random.float(), () => this.#startGateway());
    });
    for (const { worker } of this.#places) if (worker !== undefined) this.#publishDirectory(worker, gateway);
  }

  /** The worker's present directory reaches the gateway, soon or late; lost changes are sent again. */
  #publishDirectory(worker: SimulatedWorker, gateway: SimulatedGateway): void {
    const { scheduler, settings } = this.#world;
    const { directory } = worker;
    const changes = { partitionCount: directory.partitionCount, leaders: directory.claims(), workers: directory.workers };
    if (changes.partitionCount === 0) return;
    const isStale = scheduler.random.chance(this.#weather?.staleChanges ?? 0);
    const delayMs = isStale ? STALE_MS * scheduler.random.float() : scheduler.latency(settings.networkMs);
    scheduler.after(delayMs, () => gateway.learn(changes));
  }

  #maybeAgain(again: (worker: SimulatedWorker) => void, id: InvocationId): void {
    const { scheduler, weather } = this.#world;
    if (!scheduler.random.chance(weather.messageRepeated)) return;
    scheduler.after(REPEATED_AFTER_MS * scheduler.random.float(), () => {
      const partition = partitionFor(this.#world, id);
      const worker = this.workers().find(({ leading }) => leading.includes(partition));
      worker?.body.enter(() => again(worker));
    });
  }

  /** The workers that run, in the order of their places. */
  workers(): SimulatedWorker[] {
    return this.#places.flatMap(({ worker }) => (worker?.body.alive === true ? [worker] : []));
  }

  // ── weather ────────────────────────────────────────────────────────────────────────────────────

  #startWeather(): void {
    const { scheduler } = this.#world;
    const { random } = scheduler;
    this.#often("crashEveryMs", (worker) => worker.body.end("by itself"));
    this.#often("pauseEveryMs", ({ body }) => body.pause(2 * this.#pace.leaseMs * random.float()));
    this.#often("drainEveryMs", (worker) => this.leave(worker));
    this.#often("gatewayCrashEveryMs", () => {
      if (this.#gateways.length > 0) random.pick(this.#gateways).body.end("by itself");
    });
    this.#often("storeOutageEveryMs", () => {
      this.#note("the store is away");
      this.#medium.isDown = true;
      scheduler.after(OUTAGE_MS * random.float(), () => this.#storeReturns());
    });
    this.#often("storeEmptiedEveryMs", () => {
      if (this.#medium.isEmptied) return;
      this.#note("the store is emptied");
      this.#medium.empty();
      const untilMs = Math.min(EMPTIED_MS, this.#weather?.storeEmptiedEveryMs ?? EMPTIED_MS);
      scheduler.after(untilMs * random.float(), () => this.#dataReturn());
    });
    this.#often("storeCutEveryMs", ({ way, body }) => {
      this.#note(`${body.name} does not reach the store`);
      way.isCut = true;
      scheduler.after(CUT_MS * random.float(), () => {
        way.isCut = false;
      });
    });
    this.#often("linkCutEveryMs", (worker) => this.#cutLinks(worker));
  }

  /** Two random processes cannot reach each other, or only in one direction. */
  #cutLinks(worker: SimulatedWorker): void {
    const { scheduler } = this.#world;
    const { random } = scheduler;
    const here = worker.body.name.slice(0, worker.body.name.indexOf("#"));
    const there = random.pick(["g", ...this.#places.map(({ name }) => name)]);
    if (there === here) return;
    const directions: [string, string][] = random.pick([
      [[here, there]],
      [[there, here]],
      [
        [here, there],
        [there, here],
      ],
    ]);
    this.#note(`cut ${directions.map(([from, to]) => `${from}>${to}`).join()}`);
    for (const [from, to] of directions) this.#network.cut(from, to);
    scheduler.after(CUT_MS * random.float(), () => {
      for (const [from, to] of directions) this.#network.heal(from, to);
    });
  }

  /** Drains the worker, which is then started again. */
  leave(worker: SimulatedWorker): void {
    this.#leaving.add(worker);
    worker.leave().then(
      () => this.#leaving.delete(worker),
      (cause: unknown) =>
        this.#world.findings.report("no process reports an internal error", `${worker.body.name} cannot leave: ${String(cause)}`),
    );
  }

  #storeReturns(): void {
    if (!this.#medium.isDown) return;
    this.#note("the store is back");
    this.#medium.isDown = false;
  }

  #dataReturn(): void {
    if (!this.#medium.isEmptied) return;
    this.#note("the data of the store are back");
    this.#medium.bringBack();
  }

  #note(what: string): void {
    this.#world.trace.note("weather", () => what);
  }

  /** Happens to a random worker again and again during the storm. */
  #often(kind: Exclude<keyof ClusterWeather, "staleChanges">, happen: (worker: SimulatedWorker) => void): void {
    const { scheduler } = this.#world;
    const meanMs = this.#weather?.[kind];
    if (meanMs === undefined) return;
    scheduler.after(-Math.log(1 - scheduler.random.float()) * meanMs, () => {
      if (this.#weather === undefined) return;
      const workers = this.workers();
      if (workers.length > 0) happen(scheduler.random.pick(workers));
      this.#often(kind, happen);
    });
  }

  /** All faults end; soon after every partition must have a leader again. */
  calm(): void {
    const { scheduler, settings, findings } = this.#world;
    const { leaseMs, memberMs, pollMs } = this.#pace;
    this.#weather = undefined;
    this.#network.healAll();
    this.#storeReturns();
    this.#dataReturn();
    for (const worker of this.workers()) {
      worker.way.isCut = false;
      worker.body.wake();
    }
    for (const { body } of this.#gateways) body.wake();
    const boundMs = RESTART_MS + Math.max(leaseMs, memberMs) + 20 * pollMs + LEAD_MS_MAX;
    const untilMs = scheduler.clock.monotonicMs() + boundMs;
    let stableChecks = 0;
    const check = (): void => {
      const leaderPartitions = this.#leaderPartitions();
      stableChecks = this.#isStable(leaderPartitions) ? stableChecks + 1 : 0;
      if (stableChecks === STABLE_CHECKS) return this.#slowDown();
      const leftMs = untilMs - scheduler.clock.monotonicMs();
      if (leftMs > 0) return void scheduler.after(Math.min(leftMs, (STABLE_POLLS / STABLE_CHECKS) * pollMs), check);
      findings.require(
        leaderPartitions.size === settings.partitionCount,
        "a partition has a leader soon after faults stop",
        () => `${boundMs} ms after: led are ${[...leaderPartitions].sort().join() || "none"} of ${settings.partitionCount}`,
      );
      this.#slowDown();
    };
    check();
  }

  #leaderPartitions(): ReadonlySet<number> {
    return new Set(this.workers().flatMap(({ leading }) => leading));
  }

  /** Whether every process runs, none is leaving, and every partition has a leader. */
  #isStable(leaderPartitions: ReadonlySet<number>): boolean {
    const hasLeaders = leaderPartitions.size === this.#world.settings.partitionCount;
    return hasLeaders && this.#leaving.size === 0 && this.workers().length === this.#places.length;
  }

  /** Leases last longer before any worker renews them later. */
  #slowDown(): void {
    const pace = this.#pace;
    const { leaseMs, marginMs, memberMs } = new LeasePace(SLOW_POLL_MS);
    Object.assign(pace, { leaseMs, marginMs, memberMs });
    this.#world.scheduler.after(8 * pace.pollMs, () => {
      pace.pollMs = SLOW_POLL_MS;
    });
  }
}
