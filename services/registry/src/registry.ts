/**
 * The registry of deployed code. It discovers endpoints, decides over an immutable state, stores the decision and publishes the outcome
 * at once: to the data path as a snapshot, to the management API as records.
 *
 *     request ▸ discover (no lock) ▸ decide over the state ▸ write with expected versions ▸ new state ▸ call listeners
 *                                          ▲──── another process was faster: reload ────┘
 */
import { type Clock, type Logger, newDeploymentId, newEventSubscriptionId, newSubscriptionId, type Random } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import type { EgressGuard } from "@perdure/egress";
import {
  type KafkaClusterRecord,
  type MetadataStore,
  type RegisterRequest,
  type Registry,
  RegistryRefusal,
} from "@perdure/metadata";
import { TunnelRoutes } from "@perdure/tunnel";
import { type Sameness, targetOfStored } from "./address.js";
import { boundsOf, checkCandidate } from "./check.js";
import { candidateOf, resumableOn } from "./check-candidate.js";
import type { CheckPorts } from "./check-ports.js";
import type { ServiceDefaults } from "./defaults.js";
import { copyOf, decideRestoration, type RestoreContext, restoreOnce, withCopy, withDeployment } from "./deletions.js";
import { decideRegistration, decideRemoval, decideUpdate, decideVerification, requireDeployment } from "./deployments.js";
import { Discoverer } from "./discoverer.js";
import { serviceOptions } from "./effective.js";
import {
  decideEventSubscription,
  decideEventSubscriptionRemoval,
  decideOldSecretRevocation,
  decideSecretRotation,
  listEventSubscriptions,
  newWebhookSecret,
} from "./event-subscriptions.js";
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
import { RegistryManager } from "./manager.js";
import { checkDeployment, checkSubscription, NO_PLAN_BOUNDS, type PlanBounds } from "./plan-bounds.js";
import type { CountUsage, DiscoveryFetcher } from "./ports.js";
import { decideRuleDeletion, decideRules } from "./rules.js";
import { decideModification } from "./services.js";
import type { RegistryState } from "./state.js";

interface RegistryPorts {
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
  const manager = await RegistryManager.open(ports, options.defaults);
  const { bounds = NO_PLAN_BOUNDS } = options;
  const fixed = fixedClusters(options.kafkaClusters, ports.clock.nowMs());
  return {
    current: () => manager.snapshot(),
    onChange: (listener) => manager.onChange(listener),
    reload: () => manager.reload(),
    ...deploymentOperations(manager, ports, options),
    ...serviceOperations(manager, options.defaults),
    ...topicOperations(manager, ports, { fixed, bounds }),
    ...restoration(manager, ports, { sameness: samenessOf(ports, options), fixedClusters: fixed }),
    ...eventOperations(manager, ports),
    ...ruleOperations(manager, ports.clock),
  };
}

type DeploymentOperations = Pick<
  Registry,
  "register" | "checkRegistration" | "checkDeployment" | "update" | "remove" | "deployment" | "deployments"
>;

function deploymentOperations(manager: RegistryManager, ports: RegistryPorts, options: RegistryOptions): DeploymentOperations {
  const { clock, random, logger } = ports;
  const { defaults, bounds = NO_PLAN_BOUNDS } = options;
  const sameness = samenessOf(ports, options);
  const { tunnels } = sameness;
  const discoverer = new Discoverer(ports, { requestHeaders: options.requestHeaders, tunnels });

  async function discoverFor(request: RegisterRequest, signal: AbortSignal) {
    const headers = lowerCaseNames(request.additionalHeaders);
    const discovered = await discoverer.discover(discoverer.targetOf(request.address), headers, signal);
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
      const target = request.address === undefined ? targetOfStored(record.address) : discoverer.targetOf(request.address);
      const discovered = await discoverer.discover(target, headers ?? record.additionalHeaders, signal);
      const updated = await manager.change((state) => {
        const change = decideUpdate(state, id, { ...request, additionalHeaders: headers }, discovered);
        checkDeployment(state, change.answer, bounds);
        return change;
      });
      if (!request.dryRun) logger.info({ deploymentId: id, overwrite: request.overwrite }, "deployment updated in place");
      return updated;
    },
    async remove(id, force, undo) {
      const existing = manager.state().deployments.get(id)?.record;
      const isCounted = !force && existing !== undefined;
      const services = existing?.services.map(({ definition }) => definition.name) ?? [];
      const usage = isCounted ? await ports.countUsage(id, services) : undefined;
      await manager.change((state) => withDeployment(state, id, undo, decideRemoval(state, id, usage, sameness)));
      logger.info({ deploymentId: id, force }, "deployment removed");
    },
    deployment: (id) => manager.state().deployments.get(id)?.record,
    deployments: () => [...manager.state().deployments.values()].map(({ record }) => record),
  };
}

function samenessOf({ tunnels }: RegistryPorts, { routingHeaders }: RegistryOptions): Sameness {
  return { routingHeaders, tunnels: tunnels ?? new TunnelRoutes(undefined) };
}

function serviceOperations(
  manager: RegistryManager,
  defaults: ServiceDefaults,
): Pick<Registry, "service" | "services" | "effective" | "modifyService"> {
  return {
    service: (name) => manager.state().latest.get(name),
    services: () => [...manager.state().latest.values()],
    effective: ({ deployment, revision }) => serviceOptions(deployment, revision, defaults),
    modifyService: (name, changes) => manager.change((state) => decideModification(state, name, changes)),
  };
}

interface TopicOptions {
  /** Clusters of the settings, which no request changes. */
  readonly fixed: ReadonlyMap<string, KafkaClusterRecord>;
  readonly bounds: PlanBounds;
}

type TopicOperations = Pick<
  Registry,
  | "kafkaCluster"
  | "kafkaClusters"
  | "createKafkaCluster"
  | "updateKafkaCluster"
  | "removeKafkaCluster"
  | "subscription"
  | "subscriptions"
  | "createSubscription"
  | "pauseSubscription"
  | "skipRecord"
  | "removeSubscription"
>;

/** Kafka clusters, and the subscriptions to their topics. */
function topicOperations(
  manager: RegistryManager,
  { clock, random }: RegistryPorts,
  { fixed, bounds }: TopicOptions,
): TopicOperations {
  return {
    kafkaCluster: (name) => findCluster(manager.state(), fixed, name),
    kafkaClusters: () => listClusters(manager.state(), fixed),
    createKafkaCluster: (name, properties) =>
      manager.change((state) => decideClusterCreation(state, fixed, name, properties, clock.nowMs())),
    updateKafkaCluster: (name, properties) => manager.change((state) => decideClusterUpdate(state, fixed, name, properties)),
    removeKafkaCluster: (name, force, undo) =>
      manager.change((state) => {
        const change = decideClusterRemoval(state, fixed, name, force);
        const record = state.kafkaClusters.get(name)?.record;
        return record === undefined ? change : withCopy(change, undo, { kind: "kafkaCluster", record });
      }),

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
    removeSubscription: (id, undo) =>
      manager.change((state) => {
        const change = decideSubscriptionRemoval(state, id);
        const record = state.subscriptions.get(id)?.record;
        return record === undefined ? change : withCopy(change, undo, { kind: "subscription", record });
      }),
  };
}

function eventOperations(
  manager: RegistryManager,
  { clock, random, guard }: RegistryPorts,
): Pick<
  Registry,
  "eventSubscriptions" | "createEventSubscription" | "removeEventSubscription" | "rotateEventSecret" | "revokeOldEventSecret"
> {
  const newSecret = () => newWebhookSecret((into) => random.bytes(into));
  return {
    eventSubscriptions: () => listEventSubscriptions(manager.state()),
    createEventSubscription(request) {
      const nowMs = clock.nowMs();
      const fresh = { id: newEventSubscriptionId(nowMs, random), secret: newSecret(), nowMs };
      return manager.change((state) => decideEventSubscription(state, request, fresh, guard));
    },
    removeEventSubscription: (id, undo) =>
      manager.change((state) => {
        const change = decideEventSubscriptionRemoval(state, id);
        const record = state.eventSubscriptions.get(id)?.record;
        return record === undefined ? change : withCopy(change, undo, { kind: "eventSubscription", record });
      }),
    rotateEventSecret(id) {
      const secret = newSecret();
      return manager.change((state) => decideSecretRotation(state, id, secret));
    },
    revokeOldEventSecret: (id) => manager.change((state) => decideOldSecretRevocation(state, id)),
  };
}

function ruleOperations(manager: RegistryManager, clock: Clock): Pick<Registry, "rules" | "putRules" | "deleteRules"> {
  return {
    rules: () => manager.state().ruleBook.record.rules,
    putRules: (changes) => manager.change((state) => decideRules(state, changes, clock.nowMs())),
    deleteRules: (deletions, undo) =>
      manager.change((state) => {
        const change = decideRuleDeletion(state, deletions);
        const rules = state.ruleBook.record.rules.filter(({ pattern }) => change.answer.includes(pattern));
        return withCopy(change, undo, { kind: "rules", rules });
      }),
  };
}

function restoration(
  manager: RegistryManager,
  { metadata, clock }: RegistryPorts,
  context: Omit<RestoreContext, "nowMs">,
): Pick<Registry, "restoreDeleted"> {
  return {
    restoreDeleted: (operation) =>
      restoreOnce(metadata, operation, copyOf, (copy, document) => {
        const whole = { ...context, nowMs: clock.nowMs() };
        return manager.change((state) => decideRestoration(state, document, copy, whole));
      }),
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
