/** The registry's side: shows its state to watchers and carries out changes that come from management APIs. */
import { create } from "@bufbuild/protobuf";
import type {
  handleUnaryCall,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { Clock, Logger } from "@perdure/base";
import type { RegistrySnapshot, RegistryView } from "@perdure/control";
import type {
  DeploymentRecord,
  EventSubscriptionRecord,
  KafkaClusterRecord,
  Registry,
  SubscriptionRecord,
} from "@perdure/metadata";
import { given, numberOf, required } from "./codec/checks.js";
import * as deploymentCodec from "./codec/deployment.js";
import * as eventCodec from "./codec/events.js";
import * as codec from "./codec/registry.js";
import { recordsOf } from "./codec/registry.js";
import { operationId, restoreOutcome, undoOf } from "./codec/restorations.js";
import * as ruleCodec from "./codec/rules.js";
import * as snapshotCodec from "./codec/snapshot.js";
import * as proto from "./gen/v1/registry_pb.js";
import { answerChange, unaryHandler } from "./unary.js";
import { answerChangeV01, toStateV01 } from "./v01/registry.js";

/** The watchers of a registry, with their number and their lag for metrics. */
export class Watchers {
  /** Monotonic milliseconds since which a watcher has unread states; undefined when it has read all of them. */
  readonly #behindSinceMs = new Map<unknown, number | undefined>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#behindSinceMs.size;
  }

  /** Lag of the slowest watcher in milliseconds; 0 when all have read everything. */
  get lagMs(): number {
    const nowMs = this.#clock.monotonicMs();
    let oldestMs = nowMs;
    for (const sinceMs of this.#behindSinceMs.values()) if (sinceMs !== undefined) oldestMs = Math.min(oldestMs, sinceMs);
    return nowMs - oldestMs;
  }

  note(watcher: unknown, isReading: boolean): void {
    if (isReading) this.#behindSinceMs.set(watcher, undefined);
    else if (this.#behindSinceMs.get(watcher) === undefined) this.#behindSinceMs.set(watcher, this.#clock.monotonicMs());
  }

  delete(watcher: unknown): void {
    this.#behindSinceMs.delete(watcher);
  }
}

export function registryHandlers(
  registry: Registry & RegistryView,
  logger: Logger,
  watchers?: Watchers,
): UntypedServiceImplementation {
  let number = 1;
  registry.onChange(() => number++);
  const changed = <In, Result, Out>(
    change: (request: In, signal: AbortSignal) => Promise<Result>,
    responseOf: (result: Result, stateNumber: bigint) => Out,
  ) =>
    unaryHandler(async (request: In, signal) => {
      const result = await change(request, signal);
      return responseOf(result, BigInt(number));
    }, logger);

  /** Without records there are no secrets, which event subscriptions have: gateways do not need them. */
  const stateFor = (withSecrets: boolean): RegistrySnapshot => {
    const current = registry.current();
    return withSecrets ? current : { ...current, events: undefined };
  };
  return {
    watchState: (call: ServerWritableStream<proto.WatchStateRequest, proto.WatchStateResponse>) =>
      watch(call, () => {
        const records = call.request.withRecords ? codec.records.to(recordsOf(registry)) : undefined;
        const state = { number: BigInt(number), snapshot: snapshotCodec.snapshot.to(stateFor(call.request.withRecords)) };
        return create(proto.WatchStateResponseSchema, { ...state, ...given("records", records) });
      }),
    ...deploymentHandlers(registry, changed),
    ...kafkaHandlers(registry, changed),
    ...eventHandlers(registry, changed),
    putRules: changed(
      ({ changes }: proto.PutRulesRequest) => registry.putRules(changes.map(ruleCodec.ruleChange.from)),
      (rules, stateNumber) => create(proto.PutRulesResponseSchema, { stateNumber, rules: rules.map(ruleCodec.rule.to) }),
    ),
    deleteRules: changed(
      (request: proto.DeleteRulesRequest) =>
        registry.deleteRules(
          request.deletions.map(({ pattern, expectedVersion }) => ({ pattern, expectedVersion: numberOf(expectedVersion) })),
          undoOf(request),
        ),
      (patterns, stateNumber) => create(proto.DeleteRulesResponseSchema, { stateNumber, patterns: [...patterns] }),
    ),
    restoreDeleted: changed(
      (request: proto.RestoreDeletedRequest) => registry.restoreDeleted(operationId.from(request.operationId)),
      (outcome, stateNumber) => create(proto.RestoreDeletedResponseSchema, { stateNumber, result: restoreOutcome.to(outcome) }),
    ),

    watch: (call: ServerWritableStream<proto.WatchRegistryRequest, proto.RegistryState>) =>
      watch(call, () => {
        // A process of v0.1 has no use for events, and need not hold their secrets.
        const records = call.request.withRecords ? { ...recordsOf(registry), eventSubscriptions: [] } : undefined;
        return toStateV01(number, { snapshot: stateFor(false), records });
      }),
    change(call: ServerUnaryCall<proto.ChangeRequest, proto.ChangeReply>, answer: sendUnaryData<proto.ChangeReply>) {
      const abort = new AbortController();
      call.on("cancelled", () => abort.abort());
      answerChange(answerChangeV01(registry, call.request, abort.signal), () => number, logger, answer);
    },
  };

  function watch<Message>(call: ServerWritableStream<unknown, Message>, messageOf: () => Message): void {
    let isReading = true;
    let sent = 0;
    const send = (): void => {
      if (!isReading || sent === number) return;
      sent = number;
      // A reader that is slow gets the newest state when it reads again.
      isReading = call.write(messageOf());
      watchers?.note(call, isReading);
    };
    call.on("drain", () => {
      isReading = true;
      watchers?.note(call, true);
      send();
    });
    send();
    const stopListening = registry.onChange(send);
    const stop = (): void => {
      stopListening();
      watchers?.delete(call);
    };
    for (const end of ["cancelled", "close", "error"]) call.on(end, stop);
  }
}

/** Creates the handler of a change: its response carries the number of the state that shows it. */
type Changed = <In, Result, Out>(
  change: (request: In, signal: AbortSignal) => Promise<Result>,
  responseOf: (result: Result, stateNumber: bigint) => Out,
) => handleUnaryCall<In, Out>;

function deploymentHandlers(registry: Registry, changed: Changed): UntypedServiceImplementation {
  const shown = (deployment: DeploymentRecord, stateNumber: bigint) => ({
    stateNumber,
    deployment: deploymentCodec.deployment.to(deployment),
    effective: deployment.services.map((revision) => codec.effectiveOptions.to(registry.effective({ deployment, revision }))),
  });
  return {
    registerDeployment: changed(
      ({ registration }: proto.RegisterDeploymentRequest, signal) =>
        registry.register(codec.registration.from(required(registration, "a registration")), signal),
      ({ kind, deployment }, stateNumber) =>
        create(proto.RegisterDeploymentResponseSchema, { ...shown(deployment, stateNumber), kind: codec.outcomeKind.to(kind) }),
    ),
    checkRegistration: changed(
      ({ registration, bounds }: proto.CheckRegistrationRequest, signal) => {
        const request = codec.registration.from(required(registration, "a registration"));
        return registry.checkRegistration(request, bounds === undefined ? {} : codec.checkBounds.from(bounds), signal);
      },
      (verification) =>
        create(proto.CheckRegistrationResponseSchema, { verification: deploymentCodec.verification.to(verification) }),
    ),
    checkDeployment: changed(
      ({ id, bounds }: proto.CheckDeploymentRequest, signal) => {
        const checkBounds = bounds === undefined ? {} : codec.checkBounds.from(bounds);
        return registry.checkDeployment(deploymentCodec.checkedDeploymentId(id), checkBounds, signal);
      },
      (verification, stateNumber) =>
        create(proto.CheckDeploymentResponseSchema, { stateNumber, verification: deploymentCodec.verification.to(verification) }),
    ),
    updateDeployment: changed(
      (request: proto.UpdateDeploymentRequest, signal) =>
        registry.update(deploymentCodec.checkedDeploymentId(request.id), codec.deploymentUpdate.from(request), signal),
      (deployment, stateNumber) => create(proto.UpdateDeploymentResponseSchema, shown(deployment, stateNumber)),
    ),
    deleteDeployment: changed(
      (request: proto.DeleteDeploymentRequest) =>
        registry.remove(deploymentCodec.checkedDeploymentId(request.id), request.force, undoOf(request)),
      (_nothing, stateNumber) => create(proto.DeleteDeploymentResponseSchema, { stateNumber }),
    ),
    modifyService: changed(
      ({ name, overrides }: proto.ModifyServiceRequest) =>
        registry.modifyService(name, deploymentCodec.overrides.from(required(overrides, "the overrides of a service"))),
      ({ deployment }, stateNumber) => create(proto.ModifyServiceResponseSchema, shown(deployment, stateNumber)),
    ),
  };
}

function kafkaHandlers(registry: Registry, changed: Changed): UntypedServiceImplementation {
  const cluster = (record: KafkaClusterRecord, stateNumber: bigint) => ({ stateNumber, cluster: codec.kafkaCluster.to(record) });
  const subscription = (record: SubscriptionRecord, stateNumber: bigint) => ({
    stateNumber,
    subscription: codec.subscription.to(record),
  });
  return {
    createKafkaCluster: changed(
      ({ name, properties }: proto.CreateKafkaClusterRequest) => registry.createKafkaCluster(name, properties),
      (record, number) => create(proto.CreateKafkaClusterResponseSchema, cluster(record, number)),
    ),
    updateKafkaCluster: changed(
      ({ name, properties }: proto.UpdateKafkaClusterRequest) => registry.updateKafkaCluster(name, properties),
      (record, number) => create(proto.UpdateKafkaClusterResponseSchema, cluster(record, number)),
    ),
    deleteKafkaCluster: changed(
      (request: proto.DeleteKafkaClusterRequest) => registry.removeKafkaCluster(request.name, request.force, undoOf(request)),
      (_nothing, stateNumber) => create(proto.DeleteKafkaClusterResponseSchema, { stateNumber }),
    ),
    createSubscription: changed(
      ({ source, sink, options }: proto.CreateSubscriptionRequest) => registry.createSubscription(source, sink, options),
      (record, number) => create(proto.CreateSubscriptionResponseSchema, subscription(record, number)),
    ),
    deleteSubscription: changed(
      (request: proto.DeleteSubscriptionRequest) =>
        registry.removeSubscription(deploymentCodec.checkedSubscriptionId(request.id), undoOf(request)),
      (_nothing, stateNumber) => create(proto.DeleteSubscriptionResponseSchema, { stateNumber }),
    ),
    pauseSubscription: changed(
      ({ id, paused }: proto.PauseSubscriptionRequest) =>
        registry.pauseSubscription(deploymentCodec.checkedSubscriptionId(id), paused),
      (record, number) => create(proto.PauseSubscriptionResponseSchema, subscription(record, number)),
    ),
    skipRecord: changed(
      ({ id, place }: proto.SkipRecordRequest) =>
        registry.skipRecord(
          deploymentCodec.checkedSubscriptionId(id),
          codec.recordPlace.from(required(place, "the place of a record")),
        ),
      (record, number) => create(proto.SkipRecordResponseSchema, subscription(record, number)),
    ),
  };
}

function eventHandlers(registry: Registry, changed: Changed): UntypedServiceImplementation {
  const subscribed = (record: EventSubscriptionRecord, stateNumber: bigint) => ({
    stateNumber,
    subscription: eventCodec.eventSubscription.to(record),
  });
  return {
    createEventSubscription: changed(
      (request: proto.CreateEventSubscriptionRequest) =>
        registry.createEventSubscription(eventCodec.eventSubscriptionRequest.from(request)),
      (record, number) => create(proto.CreateEventSubscriptionResponseSchema, subscribed(record, number)),
    ),
    deleteEventSubscription: changed(
      (request: proto.DeleteEventSubscriptionRequest) =>
        registry.removeEventSubscription(eventCodec.checkedEventSubscriptionId(request.id), undoOf(request)),
      (_nothing, stateNumber) => create(proto.DeleteEventSubscriptionResponseSchema, { stateNumber }),
    ),
    rotateEventSecret: changed(
      ({ id }: proto.RotateEventSecretRequest) => registry.rotateEventSecret(eventCodec.checkedEventSubscriptionId(id)),
      (record, number) => create(proto.RotateEventSecretResponseSchema, subscribed(record, number)),
    ),
    revokeOldEventSecret: changed(
      ({ id }: proto.RevokeOldEventSecretRequest) => registry.revokeOldEventSecret(eventCodec.checkedEventSubscriptionId(id)),
      (record, number) => create(proto.RevokeOldEventSecretResponseSchema, subscribed(record, number)),
    ),
  };
}
