/** Requests to the registry in the form of v0.1: its state, and the arguments and result of a method, as JSON. To be removed in v0.3. */

import { create } from "@bufbuild/protobuf";
import { type DeploymentId, PerdureError, type SubscriptionId } from "@perdure/base";
import type { RegistrySnapshot } from "@perdure/control";
import type {
  DeploymentRecord,
  EffectiveOptions,
  KafkaClusterRecord,
  Registry,
  SubscriptionRecord,
  Verification,
} from "@perdure/metadata";
import type { Channel } from "../channel.js";
import { oneOf, required } from "../codec/checks.js";
import * as deploymentCodec from "../codec/deployment.js";
import { fromJson, toJson } from "../codec/json.js";
import * as codec from "../codec/registry.js";
import * as ruleCodec from "../codec/rules.js";
import * as snapshotCodec from "../codec/snapshot.js";
import { registryDefinition } from "../definitions.js";
import * as proto from "../gen/v1/registry_pb.js";
import { errorOf } from "../refusal.js";
import { callUnary, type UnaryCallOptions } from "../unary.js";
import { argumentsV01, checkedV01, fieldsV01, flagV01, listV01, numberV01, optionalV01, textsV01, textV01 } from "./checked.js";

// ── the state ────────────────────────────────────────────────────────────────────────────────────

interface StateV01 {
  readonly snapshot: RegistrySnapshot;
  readonly records?: codec.RegistryRecords | undefined;
}

export function toStateV01(number: number, state: StateV01): proto.RegistryState {
  return create(proto.RegistryStateSchema, { number: BigInt(number), body: toJson(state) });
}

export function fromStateV01({ body }: proto.RegistryState): StateV01 {
  const { snapshot, records } = fieldsV01(fromJson(body), "the state of a registry");
  return {
    snapshot: checkedV01(proto.RegistrySnapshotSchema, snapshotCodec.snapshot, snapshot, "the state of a registry"),
    records: optionalV01(records, "the records of a registry", (value, what) =>
      // v0.1 has no subscriptions to events.
      checkedV01(proto.RegistryRecordsSchema, codec.records, { eventSubscriptions: [], ...fieldsV01(value, what) }, what),
    ),
  };
}

// ── results ──────────────────────────────────────────────────────────────────────────────────────

/** Changes by name; their arguments travel without the abort signal, which becomes the call's own. */
export type ChangeMethod =
  | "register"
  | "checkRegistration"
  | "checkDeployment"
  | "update"
  | "remove"
  | "modifyService"
  | "createKafkaCluster"
  | "updateKafkaCluster"
  | "removeKafkaCluster"
  | "createSubscription"
  | "removeSubscription"
  | "pauseSubscription"
  | "skipRecord"
  | "putRules"
  | "deleteRules";
/** Result of each change, by its method. */
export type ChangeResult<Method extends ChangeMethod> = Awaited<ReturnType<Registry[Method]>>;

const deploymentOf = (value: unknown): DeploymentRecord =>
  checkedV01(proto.DeploymentSchema, deploymentCodec.deployment, value, "a deployment");
const verificationOf = (value: unknown): Verification =>
  checkedV01(proto.VerificationSchema, deploymentCodec.verification, value, "the outcome of a check");
const clusterOf = (value: unknown): KafkaClusterRecord =>
  checkedV01(proto.KafkaClusterSchema, codec.kafkaCluster, value, "a Kafka cluster");
const subscriptionOf = (value: unknown): SubscriptionRecord =>
  checkedV01(proto.SubscriptionSchema, codec.subscription, value, "a subscription");
const effectiveOf = (value: unknown): EffectiveOptions =>
  checkedV01(proto.EffectiveOptionsSchema, codec.effectiveOptions, value, "the options of a service");
const patternOf = (value: unknown): string => textV01(value, "the pattern of a rule");

const OUTCOMES = ["created", "unchanged", "replaced"] as const;

const RESULTS: { readonly [Method in ChangeMethod]: (value: unknown) => ChangeResult<Method> } = {
  register(value) {
    const { kind, deployment } = fieldsV01(value, "a registration");
    return {
      kind: oneOf(OUTCOMES, textV01(kind, "a registration"), "the outcome of a registration"),
      deployment: deploymentOf(deployment),
    };
  },
  checkRegistration: verificationOf,
  checkDeployment: verificationOf,
  update: deploymentOf,
  remove: () => undefined,
  modifyService(value) {
    const { deployment, revision } = fieldsV01(value, "a service");
    const record = deploymentOf(deployment);
    const { definition } = fieldsV01(revision, "a service");
    const { name } = fieldsV01(definition, "a service");
    return {
      deployment: record,
      revision: required(
        record.services.find((each) => each.definition.name === name),
        "a service",
      ),
    };
  },
  createKafkaCluster: clusterOf,
  updateKafkaCluster: clusterOf,
  removeKafkaCluster: () => undefined,
  createSubscription: subscriptionOf,
  removeSubscription: () => undefined,
  pauseSubscription: subscriptionOf,
  skipRecord: subscriptionOf,
  putRules: (value) =>
    listV01(value, "a list of rules").map((rule) => checkedV01(proto.RuleSchema, ruleCodec.rule, rule, "a rule")),
  deleteRules: (value) => listV01(value, "a list of rules").map(patternOf),
};

/** The result of a change, and the number of the state that shows it. */
interface AnsweredChange<Result> {
  readonly value: Result;
  readonly deployment: DeploymentRecord | undefined;
  /** Options of the services of the deployment that `value` is or holds, in their order; empty when it names none. */
  readonly effective: readonly EffectiveOptions[];
  readonly stateNumber: bigint;
}

export async function changeV01<Method extends ChangeMethod>(
  client: Channel,
  method: Method,
  values: readonly unknown[],
  options: UnaryCallOptions,
): Promise<AnsweredChange<ChangeResult<Method>>> {
  const request = create(proto.ChangeRequestSchema, { method, arguments: toJson(values) });
  const { outcome } = await callUnary(client, registryDefinition.change, request, options);
  switch (outcome.case) {
    case "changed": {
      const fields = fieldsV01(fromJson(outcome.value.result), "the result of a change");
      const value = RESULTS[method](fields["value"]);
      const effective = listV01(fields["effective"] ?? [], "the options of services").map(effectiveOf);
      return { value, deployment: deploymentIn(value), effective, stateNumber: outcome.value.stateNumber };
    }
    case "refused":
      throw errorOf(outcome.value);
    case undefined:
      throw new PerdureError("OPS0003", "a registry returned an empty answer");
  }
}

// ── arguments ────────────────────────────────────────────────────────────────────────────────────

const deploymentId = (value: unknown): DeploymentId =>
  deploymentCodec.checkedDeploymentId(textV01(value, "the id of a deployment"));
const subscriptionId = (value: unknown): SubscriptionId =>
  deploymentCodec.checkedSubscriptionId(textV01(value, "the id of a subscription"));
const registrationOf = (value: unknown) => checkedV01(proto.RegistrationSchema, codec.registration, value, "a registration");
const boundsOf = (value: unknown) =>
  checkedV01(
    proto.CheckBoundsSchema,
    codec.checkBounds,
    fieldsV01(value ?? {}, "the bounds of a check"),
    "the bounds of a check",
  );
const cluster = ([name, properties]: readonly unknown[]) =>
  [textV01(name, "the name of a Kafka cluster"), textsV01(properties, "the properties of a Kafka cluster")] as const;
const forced = (value: unknown): boolean => flagV01(value, "whether to force a removal");

/** Each change with its arguments as they came. */
const CHANGES: {
  readonly [Method in ChangeMethod]: (registry: Registry, values: readonly unknown[], signal: AbortSignal) => Promise<unknown>;
} = {
  register: async (registry, [request], signal) => registry.register(registrationOf(request), signal),
  checkRegistration: async (registry, [request, bounds], signal) =>
    registry.checkRegistration(registrationOf(request), boundsOf(bounds), signal),
  checkDeployment: async (registry, [id, bounds], signal) => registry.checkDeployment(deploymentId(id), boundsOf(bounds), signal),
  async update(registry, [id, request], signal) {
    const what = "the update of a deployment";
    return registry.update(
      deploymentId(id),
      checkedV01(proto.UpdateDeploymentRequestSchema, codec.deploymentUpdate, request, what),
      signal,
    );
  },
  remove: async (registry, [id, force]) => registry.remove(deploymentId(id), forced(force)),
  modifyService: async (registry, [name, changes]) =>
    registry.modifyService(
      textV01(name, "the name of a service"),
      checkedV01(proto.ServiceOverridesSchema, deploymentCodec.overrides, changes, "the overrides of a service"),
    ),
  createKafkaCluster: async (registry, values) => registry.createKafkaCluster(...cluster(values)),
  updateKafkaCluster: async (registry, values) => registry.updateKafkaCluster(...cluster(values)),
  removeKafkaCluster: async (registry, [name, force]) =>
    registry.removeKafkaCluster(textV01(name, "the name of a Kafka cluster"), forced(force)),
  createSubscription: async (registry, [source, sink, options]) =>
    registry.createSubscription(
      textV01(source, "the source of a subscription"),
      textV01(sink, "the sink of a subscription"),
      textsV01(options, "the options of a subscription"),
    ),
  removeSubscription: async (registry, [id]) => registry.removeSubscription(subscriptionId(id)),
  pauseSubscription: async (registry, [id, isPaused]) =>
    registry.pauseSubscription(subscriptionId(id), flagV01(isPaused, "the state of a subscription")),
  skipRecord: async (registry, [id, place]) =>
    registry.skipRecord(
      subscriptionId(id),
      checkedV01(proto.RecordPlaceSchema, codec.recordPlace, place, "the place of a record"),
    ),
  putRules: async (registry, [changes]) =>
    registry.putRules(
      listV01(changes, "changes of rules").map((change) =>
        checkedV01(proto.RuleChangeSchema, ruleCodec.ruleChange, change, "the change of a rule"),
      ),
    ),
  deleteRules: async (registry, [deletions]) =>
    registry.deleteRules(
      listV01(deletions, "deletions of rules").map((deletion) => {
        const { pattern, expectedVersion } = fieldsV01(deletion, "the deletion of a rule");
        return { pattern: patternOf(pattern), expectedVersion: optionalV01(expectedVersion, "the version of a rule", numberV01) };
      }),
    ),
};

export async function answerChangeV01(
  registry: Registry,
  { method, arguments: body }: proto.ChangeRequest,
  signal: AbortSignal,
): Promise<{ readonly value: unknown; readonly effective: readonly EffectiveOptions[] }> {
  const isMethod = (name: string): name is ChangeMethod => Object.hasOwn(CHANGES, name);
  if (!isMethod(method)) throw new PerdureError("OPS0003", `there is no change '${method}'`);
  const value = await CHANGES[method](registry, argumentsV01(body), signal);
  const deployment = deploymentIn(value);
  const effective = deployment?.services.map((revision) => registry.effective({ deployment, revision })) ?? [];
  return { value, effective };
}

/** Changes resolve with a deployment, with something that has one, or with something else. All of them are values of this process. */
function deploymentIn(value: unknown): DeploymentRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = "deployment" in value ? value.deployment : value;
  const isDeployment = typeof record === "object" && record !== null && "services" in record && Array.isArray(record.services);
  return isDeployment ? (record as DeploymentRecord) : undefined;
}
