/**
 * The registry in another process. Reads use the last received state, so the data path continues while no registry can be reached; changes
 * go to a registry and resolve when this process has received the state that shows them.
 */

import { create } from "@bufbuild/protobuf";
import { PerdureError } from "@perdure/base";
import type { RegistrySnapshot, RegistryView } from "@perdure/control";
import type { DeploymentRecord, LocatedRevision, Registry, Verification } from "@perdure/metadata";
import type { Schedules } from "@perdure/schedules";
import type { Channel } from "./channel.js";
import { bigOf, given, required } from "./codec/checks.js";
import * as deploymentCodec from "./codec/deployment.js";
import * as eventCodec from "./codec/events.js";
import * as codec from "./codec/registry.js";
import { type RegistryRecords, revisionKey } from "./codec/registry.js";
import { keptUnder, restoreOutcome } from "./codec/restorations.js";
import * as ruleCodec from "./codec/rules.js";
import * as snapshotCodec from "./codec/snapshot.js";
import { registryDefinition } from "./definitions.js";
import * as proto from "./gen/v1/registry_pb.js";
import { SNAPSHOT_DEADLINE_MS } from "./limits.js";
import { type PagesOptions, readPages } from "./pages.js";
import { RegistryWatch, type RemoteRegistryOptions, type RemoteRegistryPorts } from "./registry-watch.js";
import { remoteSchedules } from "./remote-schedules.js";
import { isUnimplemented } from "./status.js";
import { fromStateV01 } from "./v01/registry.js";

export interface RemoteRegistry extends Registry, RegistryView {
  /** Resolves when the first state is here. */
  readonly ready: Promise<void>;
  /** Schedules of the registry that is watched. */
  readonly schedules: Schedules;
  /** The present state of each registry that answers in time, in no order, including registries that are not watched. */
  snapshots(): Promise<readonly RegistrySnapshot[]>;
  /** Milliseconds since the watch on a registry was lost: the state may be that old. 0 while a watch is open. */
  readonly syncAgeMs: number;
  /** Number of the last state that was received, as the registry counts them; 0 while none is watched. */
  readonly stateNumber: bigint;
  close(): void;
}

export function openRemoteRegistry(ports: RemoteRegistryPorts, options: RemoteRegistryOptions): RemoteRegistry {
  const watch = new RegistryWatch(ports, options);
  return {
    ready: watch.ready,
    schedules: remoteSchedules(() => watch.client),
    get syncAgeMs() {
      return watch.syncAgeMs;
    },
    get stateNumber() {
      return watch.stateNumber;
    },
    close: () => watch.close(),
    snapshots: async () => (await Promise.all(ports.channels.map(snapshotOf))).filter((each) => each !== undefined),
    current: () => watch.state.snapshot,
    onChange: (listener) => watch.onChange(listener),
    ...readsOf(watch),
    ...deploymentChanges(watch),
    ...kafkaChanges(watch),
    ...eventChanges(watch),
    putRules: (changes) => {
      const request = create(proto.PutRulesRequestSchema, { changes: changes.map(ruleCodec.ruleChange.to) });
      const answerOf = ({ rules, stateNumber }: proto.PutRulesResponse) => ({
        value: rules.map(ruleCodec.rule.from),
        stateNumber,
      });
      return watch.change({ method: registryDefinition.putRules, request, answerOf, v01: ["putRules", changes] });
    },
    restoreDeleted: (operation) =>
      watch.changeAfterV01(
        registryDefinition.restoreDeleted,
        create(proto.RestoreDeletedRequestSchema, { operationId: operation }),
        ({ result, stateNumber }) => ({ value: restoreOutcome.from(result), stateNumber }),
      ),
    deleteRules: (deletions, undo) => {
      const deletedRules = deletions.map(({ pattern, expectedVersion }) => ({
        pattern,
        ...given("expectedVersion", bigOf(expectedVersion)),
      }));
      const request = create(proto.DeleteRulesRequestSchema, { deletions: deletedRules, ...keptUnder(undo) });
      const answerOf = ({ patterns, stateNumber }: proto.DeleteRulesResponse) => ({ value: patterns, stateNumber });
      return watch.change({ method: registryDefinition.deleteRules, request, answerOf, v01: ["deleteRules", deletions] });
    },
  };
}

type RegistryReads = Pick<
  Registry,
  | "deployment"
  | "deployments"
  | "service"
  | "services"
  | "effective"
  | "kafkaCluster"
  | "kafkaClusters"
  | "subscription"
  | "subscriptions"
  | "rules"
  | "eventSubscriptions"
>;

/** Reads from the state that was received last. */
function readsOf(watch: RegistryWatch): RegistryReads {
  const records = (): RegistryRecords => watch.records;
  const located = (deploymentId: string, name: string): LocatedRevision | undefined => {
    const deployment = records().deployments.find(({ id }) => id === deploymentId);
    return deployment === undefined ? undefined : locatedIn(deployment, name);
  };
  const held = <T>(revision: T | undefined): T => {
    if (revision === undefined)
      throw new PerdureError("OPS0003", "a state of the registry names a revision that it does not hold");
    return revision;
  };
  return {
    deployment: (id) => records().deployments.find((deployment) => deployment.id === id),
    deployments: () => records().deployments,
    service(name) {
      const latest = records().latest.find((each) => each.name === name);
      return latest === undefined ? undefined : held(located(latest.deploymentId, name));
    },
    services: () => records().latest.map(({ deploymentId, name }) => held(located(deploymentId, name))),
    effective: (located) => watch.unshown.get(located.revision) ?? held(records().effective.get(revisionKey(located))),
    kafkaCluster: (name) => records().kafkaClusters.find((cluster) => cluster.name === name),
    kafkaClusters: () => records().kafkaClusters,
    subscription: (id) => records().subscriptions.find((subscription) => subscription.id === id),
    subscriptions: () => records().subscriptions,
    rules: () => records().rules,
    eventSubscriptions: () => records().eventSubscriptions,
  };
}

function locatedIn(deployment: DeploymentRecord, name: string): LocatedRevision | undefined {
  const revision = deployment.services.find(({ definition }) => definition.name === name);
  return revision === undefined ? undefined : { deployment, revision };
}

type RemoteDeploymentChanges = Pick<
  Registry,
  "register" | "checkRegistration" | "checkDeployment" | "update" | "remove" | "modifyService"
>;

function deploymentChanges(watch: RegistryWatch): RemoteDeploymentChanges {
  const shown = (response: ShownDeployment) => ({
    deployment: deploymentCodec.deployment.from(required(response.deployment, "a deployment")),
    effective: response.effective.map(codec.effectiveOptions.from),
    stateNumber: response.stateNumber,
  });
  return {
    register: (request, signal) =>
      watch.change(
        {
          method: registryDefinition.registerDeployment,
          request: create(proto.RegisterDeploymentRequestSchema, { registration: codec.registration.to(request) }),
          answerOf(response) {
            const answer = shown(response);
            return { ...answer, value: { kind: codec.outcomeKind.from(response.kind), deployment: answer.deployment } };
          },
          v01: ["register", request],
        },
        signal,
      ),
    checkRegistration: (request, bounds, signal) =>
      watch.change(
        {
          method: registryDefinition.checkRegistration,
          request: create(proto.CheckRegistrationRequestSchema, {
            registration: codec.registration.to(request),
            bounds: codec.checkBounds.to(bounds),
          }),
          answerOf: ({ verification }) => ({ value: verified(verification) }),
          v01: ["checkRegistration", request, bounds],
        },
        signal,
      ),
    checkDeployment: (id, bounds, signal) =>
      watch.change(
        {
          method: registryDefinition.checkDeployment,
          request: create(proto.CheckDeploymentRequestSchema, { id, bounds: codec.checkBounds.to(bounds) }),
          answerOf: ({ verification, stateNumber }) => ({ value: verified(verification), stateNumber }),
          v01: ["checkDeployment", id, bounds],
        },
        signal,
      ),
    update(id, request, signal) {
      const message = codec.deploymentUpdate.to(request);
      message.id = id;
      const answerOf = (response: proto.UpdateDeploymentResponse) => {
        const answer = shown(response);
        return { ...answer, value: answer.deployment };
      };
      const method = registryDefinition.updateDeployment;
      return watch.change({ method, request: message, answerOf, v01: ["update", id, request] }, signal);
    },
    remove: (id, force, undo) =>
      watch.change({
        method: registryDefinition.deleteDeployment,
        request: create(proto.DeleteDeploymentRequestSchema, { id, force, ...keptUnder(undo) }),
        answerOf: ({ stateNumber }) => ({ value: undefined, stateNumber }),
        v01: ["remove", id, force],
      }),
    modifyService: (name, changes) =>
      watch.change({
        method: registryDefinition.modifyService,
        request: create(proto.ModifyServiceRequestSchema, { name, overrides: deploymentCodec.overrides.to(changes) }),
        answerOf(response) {
          const answer = shown(response);
          return { ...answer, value: required(locatedIn(answer.deployment, name), "a service") };
        },
        v01: ["modifyService", name, changes],
      }),
  };
}

interface ShownDeployment {
  readonly stateNumber: bigint;
  readonly deployment?: proto.Deployment | undefined;
  readonly effective: readonly proto.EffectiveOptions[];
}

const verified = (message: proto.Verification | undefined): Verification =>
  deploymentCodec.verification.from(required(message, "the outcome of a check"));

type KafkaChanges = Pick<
  Registry,
  | "createKafkaCluster"
  | "updateKafkaCluster"
  | "removeKafkaCluster"
  | "createSubscription"
  | "removeSubscription"
  | "pauseSubscription"
  | "skipRecord"
>;

function kafkaChanges(watch: RegistryWatch): KafkaChanges {
  const cluster = (response: { readonly stateNumber: bigint; readonly cluster?: proto.KafkaCluster | undefined }) => ({
    value: codec.kafkaCluster.from(required(response.cluster, "a Kafka cluster")),
    stateNumber: response.stateNumber,
  });
  const subscribed = (response: { readonly stateNumber: bigint; readonly subscription?: proto.Subscription | undefined }) => ({
    value: codec.subscription.from(required(response.subscription, "a subscription")),
    stateNumber: response.stateNumber,
  });
  const nothing = ({ stateNumber }: { readonly stateNumber: bigint }) => ({ value: undefined, stateNumber });
  const methods = registryDefinition;
  return {
    createKafkaCluster(name, properties) {
      const request = create(proto.CreateKafkaClusterRequestSchema, { name, properties: { ...properties } });
      const v01 = ["createKafkaCluster", name, properties] as const;
      return watch.change({ method: methods.createKafkaCluster, request, answerOf: cluster, v01 });
    },
    updateKafkaCluster(name, properties) {
      const request = create(proto.UpdateKafkaClusterRequestSchema, { name, properties: { ...properties } });
      const v01 = ["updateKafkaCluster", name, properties] as const;
      return watch.change({ method: methods.updateKafkaCluster, request, answerOf: cluster, v01 });
    },
    removeKafkaCluster(name, force, undo) {
      const request = create(proto.DeleteKafkaClusterRequestSchema, { name, force, ...keptUnder(undo) });
      const v01 = ["removeKafkaCluster", name, force] as const;
      return watch.change({ method: methods.deleteKafkaCluster, request, answerOf: nothing, v01 });
    },
    createSubscription(source, sink, options) {
      const request = create(proto.CreateSubscriptionRequestSchema, { source, sink, options: { ...options } });
      const v01 = ["createSubscription", source, sink, options] as const;
      return watch.change({ method: methods.createSubscription, request, answerOf: subscribed, v01 });
    },
    removeSubscription(id, undo) {
      const request = create(proto.DeleteSubscriptionRequestSchema, { id, ...keptUnder(undo) });
      const v01 = ["removeSubscription", id] as const;
      return watch.change({ method: methods.deleteSubscription, request, answerOf: nothing, v01 });
    },
    pauseSubscription(id, paused) {
      const request = create(proto.PauseSubscriptionRequestSchema, { id, paused });
      const v01 = ["pauseSubscription", id, paused] as const;
      return watch.change({ method: methods.pauseSubscription, request, answerOf: subscribed, v01 });
    },
    skipRecord(id, place) {
      const request = create(proto.SkipRecordRequestSchema, { id, place: codec.recordPlace.to(place) });
      return watch.change({ method: methods.skipRecord, request, answerOf: subscribed, v01: ["skipRecord", id, place] });
    },
  };
}

type EventChanges = Pick<
  Registry,
  "createEventSubscription" | "removeEventSubscription" | "rotateEventSecret" | "revokeOldEventSecret"
>;

/** Registries of v0.1 have no events. */
function eventChanges(watch: RegistryWatch): EventChanges {
  const subscribed = (response: {
    readonly stateNumber: bigint;
    readonly subscription?: proto.EventSubscription | undefined;
  }) => ({
    value: eventCodec.eventSubscription.from(required(response.subscription, "an event subscription")),
    stateNumber: response.stateNumber,
  });
  const nothing = ({ stateNumber }: { readonly stateNumber: bigint }) => ({ value: undefined, stateNumber });
  const methods = registryDefinition;
  return {
    createEventSubscription(request) {
      const message = eventCodec.eventSubscriptionRequest.to(request);
      return watch.changeAfterV01(methods.createEventSubscription, message, subscribed);
    },
    removeEventSubscription(id, undo) {
      const request = create(proto.DeleteEventSubscriptionRequestSchema, { id, ...keptUnder(undo) });
      return watch.changeAfterV01(methods.deleteEventSubscription, request, nothing);
    },
    rotateEventSecret(id) {
      const request = create(proto.RotateEventSecretRequestSchema, { id });
      return watch.changeAfterV01(methods.rotateEventSecret, request, subscribed);
    },
    revokeOldEventSecret(id) {
      const request = create(proto.RevokeOldEventSecretRequestSchema, { id });
      return watch.changeAfterV01(methods.revokeOldEventSecret, request, subscribed);
    },
  };
}

/** The first state of a watch that ends with it; undefined when there is none in time. */
async function snapshotOf(channel: Channel): Promise<RegistrySnapshot | undefined> {
  const options = { deadlineMs: SNAPSHOT_DEADLINE_MS, callee: "a registry" };
  try {
    const request = create(proto.WatchStateRequestSchema, { withRecords: false });
    for await (const { snapshot } of readPages(channel, registryDefinition.watchState, request, options)) {
      return snapshot && snapshotCodec.snapshot.from(snapshot);
    }
  } catch (cause) {
    return cause instanceof Error && isUnimplemented(cause.cause) ? snapshotOfV01(channel, options) : undefined;
  }
  return undefined;
}

async function snapshotOfV01(channel: Channel, options: PagesOptions): Promise<RegistrySnapshot | undefined> {
  try {
    const request = create(proto.WatchRegistryRequestSchema, { withRecords: false });
    for await (const state of readPages(channel, registryDefinition.watch, request, options)) return fromStateV01(state).snapshot;
  } catch {
    // This registry does not answer: try the others as well.
  }
  return undefined;
}
