/**
 * The registry of deployed code. It discovers endpoints, decides over an immutable state, stores the decision and publishes the outcome
 * at once: to the data path as a snapshot, to the management API as records.
 *
 *     request ▸ discover (no lock) ▸ decide over the state ▸ write with expected versions ▸ new state ▸ call listeners
 *                                          ▲──── another process was faster: reload ────┘
 */
import {
  backoffMs,
  type Clock,
  invariant,
  type Logger,
  newDeploymentId,
  newSubscriptionId,
  PerdureError,
  pause,
  type Random,
} from "@perdure/base";
import type { RegistrySnapshot, RegistryView } from "@perdure/control";
import type { EgressGuard } from "@perdure/egress";
import {
  type KafkaClusterRecord,
  type MetadataStore,
  type RegisterRequest,
  type Registry,
  RegistryRefusal,
  type RequestedAddress,
} from "@perdure/metadata";
import { TunnelRoutes } from "@perdure/tunnel";
import { discoveryTarget, type Sameness, targetOfStored } from "./address.js";
import { boundsOf, checkCandidate } from "./check.js";
import { candidateOf, resumableOn } from "./check-candidate.js";
import type { CheckPorts } from "./check-ports.js";
import type { ServiceDefaults } from "./defaults.js";
import { decideRegistration, decideRemoval, decideUpdate, decideVerification, requireDeployment } from "./deployments.js";
import { type Discovered, type DiscoveryPorts, discover } from "./discover.js";
import { serviceOptions } from "./effective.js";
import { checkDestination, checkTunnel, DiscoveryLimit } from "./guarded.js";
import {
  decideClusterCreation,
  decideClusterRemoval,
  decideClusterUpdate,
  decidePause,
  decideSkip,
  decideSubscription,
  decideSubscriptionRemoval,
  findCluster,
  listClusters,
} from "./kafka.js";
import { CONFLICT_BOUNDS, CONFLICTS_MAX, LISTENERS_MAX, WAITING_CHANGES_MAX } from "./limits.js";
import { loadState, withWrites } from "./persistence.js";
import { checkDeployment, checkSubscription, NO_PLAN_BOUNDS, type PlanBounds } from "./plan-bounds.js";
import type { CountUsage, DiscoveryFetcher, DiscoveryTarget } from "./ports.js";
import { decideRuleDeletion, decideRules } from "./rules.js";
import { decideModification } from "./services.js";
import { isSameState, type RegistryState, type StateChange } from "./state.js";
import { turnVersion, withTurn } from "./turn.js";
import { snapshotOf, type ViewCache } from "./views.js";

export interface RegistryPorts {
  readonly metadata: MetadataStore;
  readonly fetcher: DiscoveryFetcher;
  /** Called before a deployment is removed without force. */
  readonly countUsage: CountUsage;
  /** Checks code against existing invocations; without it, requests for a check are refused. */
  readonly check?: CheckPorts | undefined;
  /** Decides which destinations may be registered; without it all may. */
  readonly guard?: EgressGuard | undefined;
  /** The tunnels of the HTTP transport; without them there are no tunnels. */
  readonly tunnels?: TunnelRoutes | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RegistryOptions {
  readonly defaults: ServiceDefaults;
  /** Sent with every request to an endpoint, lower-case names; `x-restate-cluster-name` by default. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  /** Additional headers of a deployment that are part of its destination's identity. */
  readonly routingHeaders: readonly string[];
  /** Kafka clusters of the server's settings: name → properties. */
  readonly kafkaClusters: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Bounds of the environment's plan; without them the registry's own bounds. */
  readonly bounds?: PlanBounds | undefined;
}

/** The data-path and the management interface of the registry, and a way to reload what another process stored. */
export interface RegistryRole extends Registry, RegistryView {
  /** Reads everything again. Rejects as `createRegistry` does; the previous state is kept. */
  reload(): Promise<void>;
}

/** Loads the stored documents. Rejects with META0005 when they are damaged, with the store's error when they cannot be read. */
export async function createRegistry(ports: RegistryPorts, options: RegistryOptions): Promise<RegistryRole> {
  const { clock, random, logger } = ports;
  const manager = await createRegistryManager(ports, options.defaults);
  const discovery: DiscoveryPorts = {
    fetcher: ports.fetcher,
    clock,
    random,
    requestHeaders: options.requestHeaders,
    isGuarded: ports.guard !== undefined,
  };
  const fixed = fixedClusters(options.kafkaClusters, clock.nowMs());
  const { defaults, bounds = NO_PLAN_BOUNDS } = options;
  const tunnels = ports.tunnels ?? new TunnelRoutes(undefined);
  const sameness: Sameness = { routingHeaders: options.routingHeaders, tunnels };
  const limit = ports.guard === undefined ? undefined : new DiscoveryLimit(clock);

  /** Throws `RegistryRefusal` when the address is invalid or not allowed. */
  function targetOf(address: RequestedAddress): DiscoveryTarget {
    const target = discoveryTarget(address);
    const isTunnel = target.kind === "http" && checkTunnel(tunnels, target.uri);
    if (ports.guard !== undefined && !isTunnel) checkDestination(ports.guard, address);
    return target;
  }

  function discoverLimited(
    target: DiscoveryTarget,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Discovered> {
    const run = () => discover(discovery, target, headers, signal);
    return limit === undefined ? run() : limit.run(run);
  }

  async function discoverFor(request: RegisterRequest, signal: AbortSignal) {
    const headers = lowerCaseNames(request.additionalHeaders);
    const discovered = await discoverLimited(targetOf(request.address), headers, signal);
    return (state: RegistryState) => {
      const change = decideRegistration(state, { ...request, additionalHeaders: headers }, discovered, {
        nowMs: clock.nowMs(),
        freshId: newDeploymentId(clock.nowMs(), random),
        sameness,
      });
      checkDeployment(state, change.answer.deployment, bounds);
      return change;
    };
  }

  return {
    current: manager.snapshot,
    onChange: manager.onChange,
    reload: manager.reload,

    async register(request, signal) {
      const decide = await discoverFor(request, signal);
      const outcome = await manager.change(decide);
      if (!request.dryRun) logger.info({ deploymentId: outcome.deployment.id, outcome: outcome.kind }, "deployment registered");
      return outcome;
    },
    async checkRegistration(request, requestedBounds, signal) {
      const check = requireCheck(ports.check);
      const decide = await discoverFor({ ...request, dryRun: true }, signal);
      const state = manager.state();
      const candidate = candidateOf(state, decide(state).answer, defaults);
      return checkCandidate(check, candidate, boundsOf(requestedBounds), clock, signal);
    },
    async checkDeployment(id, requestedBounds, signal) {
      const check = requireCheck(ports.check);
      const { record } = requireDeployment(manager.state(), id);
      const candidate = resumableOn(record, defaults);
      const bounds = boundsOf(requestedBounds, { completedPerHandler: 0 });
      const verification = await checkCandidate(check, candidate, bounds, clock, signal);
      await manager.change((state) => decideVerification(state, record, verification));
      return verification;
    },
    async update(id, request, signal) {
      const { record } = requireDeployment(manager.state(), id);
      if (request.address === undefined && request.additionalHeaders === undefined && !request.overwrite) return record;
      const headers = request.additionalHeaders === undefined ? undefined : lowerCaseNames(request.additionalHeaders);
      const target = request.address === undefined ? targetOfStored(record.address) : targetOf(request.address);
      const discovered = await discoverLimited(target, headers ?? record.additionalHeaders, signal);
      const updated = await manager.change((state) => {
        const change = decideUpdate(state, id, { ...request, additionalHeaders: headers }, discovered);
        checkDeployment(state, change.answer, bounds);
        return change;
      });
      if (!request.dryRun) logger.info({ deploymentId: id, overwrite: request.overwrite }, "deployment updated in place");
      return updated;
    },
    async remove(id, force) {
      const existing = manager.state().deployments.get(id)?.record;
      const isCounted = !force && existing !== undefined;
      const services = existing?.services.map(({ definition }) => definition.name) ?? [];
      const usage = isCounted ? await ports.countUsage(id, services) : undefined;
      await manager.change((state) => decideRemoval(state, id, usage, sameness));
      logger.info({ deploymentId: id, force }, "deployment removed");
    },
    deployment: (id) => manager.state().deployments.get(id)?.record,
    deployments: () => [...manager.state().deployments.values()].map(({ record }) => record),
    service: (name) => manager.state().latest.get(name),
    services: () => [...manager.state().latest.values()],
    effective: ({ deployment, revision }) => serviceOptions(deployment, revision, defaults),
    modifyService: (name, changes) => manager.change((state) => decideModification(state, name, changes)),

    kafkaCluster: (name) => findCluster(manager.state(), fixed, name),
    kafkaClusters: () => listClusters(manager.state(), fixed),
    createKafkaCluster: (name, properties) =>
      manager.change((state) => decideClusterCreation(state, fixed, name, properties, clock.nowMs())),
    updateKafkaCluster: (name, properties) => manager.change((state) => decideClusterUpdate(state, fixed, name, properties)),
    removeKafkaCluster: (name, force) => manager.change((state) => decideClusterRemoval(state, fixed, name, force)),

    subscription: (id) => manager.state().subscriptions.get(id)?.record,
    subscriptions: () => [...manager.state().subscriptions.values()].map(({ record }) => record),
    createSubscription: (source, sink, subscriptionOptions) =>
      manager.change((state) => {
        checkSubscription(state, bounds);
        const id = newSubscriptionId(clock.nowMs(), random);
        return decideSubscription(state, fixed, id, { source, sink, options: subscriptionOptions });
      }),
    pauseSubscription: (id, paused) => manager.change((state) => decidePause(state, id, paused)),
    skipRecord: (id, place) => manager.change((state) => decideSkip(state, id, place)),
    removeSubscription: (id) => manager.change((state) => decideSubscriptionRemoval(state, id)),

    rules: () => manager.state().ruleBook.record.rules,
    putRules: (changes) => manager.change((state) => decideRules(state, changes, clock.nowMs())),
    deleteRules: (deletions) => manager.change((state) => decideRuleDeletion(state, deletions)),
  };
}

/** Holds the state and applies changes one at a time. */
interface RegistryManager {
  state(): RegistryState;
  snapshot(): RegistrySnapshot;
  change<T>(decide: (state: RegistryState) => StateChange<T>): Promise<T>;
  reload(): Promise<void>;
  onChange(listener: () => void): () => void;
}

async function createRegistryManager(
  { metadata, clock, random, logger }: RegistryPorts,
  defaults: ServiceDefaults,
): Promise<RegistryManager> {
  const views: ViewCache = new WeakMap();
  const listeners = new Set<() => void>();
  // Before the state: a change between the two reads is then detected as a conflict.
  let turn = await turnVersion(metadata);
  let state = await loadState(metadata);
  let snapshot = snapshotOf(state, defaults, views);
  let tail: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  function show(next: RegistryState): void {
    state = next;
    snapshot = snapshotOf(next, defaults, views);
    for (const listener of listeners) {
      try {
        listener();
      } catch (cause) {
        logger.error({ cause }, "a listener for registry changes failed");
      }
    }
  }

  async function load(): Promise<void> {
    const present = await turnVersion(metadata);
    const stored = await loadState(metadata);
    turn = present;
    if (!isSameState(stored, state)) show(stored); // Most change events are about this process's own change.
  }

  /** A refusal, or that there is nothing to do, may rest on a state that another process has changed since. */
  async function decideNow<T>(decide: (state: RegistryState) => StateChange<T>): Promise<StateChange<T>> {
    let decided: StateChange<T> | undefined;
    let refusal: unknown;
    try {
      decided = decide(state);
      if (decided.writes.length > 0) return decided; // The write will detect a conflict.
    } catch (cause) {
      if (!(cause instanceof RegistryRefusal)) throw cause;
      refusal = cause;
    }
    if ((await turnVersion(metadata)) !== turn) {
      await load();
      return decide(state);
    }
    if (decided === undefined) throw refusal;
    return decided;
  }

  async function changeNow<T>(decide: (state: RegistryState) => StateChange<T>): Promise<T> {
    for (let attempt = 1; attempt <= CONFLICTS_MAX; attempt++) {
      const { writes, answer } = await decideNow(decide);
      if (writes.length === 0) return answer;
      const outcome = await metadata.write(withTurn(writes, turn));
      if (outcome.kind === "written") {
        turn = outcome.version;
        show(withWrites(state, writes, outcome.version));
        return answer;
      }
      await load();
      // Random, so that two processes do not conflict again.
      if (attempt > 1) await pause(clock, backoffMs(attempt - 1, CONFLICT_BOUNDS, random));
    }
    throw new PerdureError("STO0001", `${CONFLICTS_MAX} other changes came first, one after the other; try again`);
  }

  /** Runs each change in its turn; a failed change does not affect the next. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    invariant(waiting < WAITING_CHANGES_MAX, "waiting changes of the registry are bounded by the API in front");
    waiting++;
    const turn = tail.then(work).finally(() => waiting--);
    tail = turn.catch(() => undefined);
    return turn;
  }

  return {
    state: () => state,
    snapshot: () => snapshot,
    change: (decide) => inTurn(() => changeNow(decide)),
    reload: () => inTurn(load),
    onChange(listener) {
      invariant(listeners.size < LISTENERS_MAX, "listeners for registry changes stop listening when they are done");
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function fixedClusters(configured: RegistryOptions["kafkaClusters"], nowMs: number): ReadonlyMap<string, KafkaClusterRecord> {
  return new Map([...configured].map(([name, properties]) => [name, { name, properties, createdAtMs: nowMs }]));
}

function requireCheck(check: CheckPorts | undefined): CheckPorts {
  if (check !== undefined) return check;
  throw new RegistryRefusal(400, undefined, "this server cannot check deployments against existing invocations");
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
