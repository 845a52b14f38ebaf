/** Requests to the registry in the form of v0.1: its state, and the arguments and result of a method, as JSON. To be removed in v0.3. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { PerdureError } from "@perdure/base";
import type { RegistrySnapshot } from "@perdure/control";
import type { DeploymentRecord, EffectiveOptions, Registry } from "@perdure/metadata";
import { fromJson, toJson } from "../codec/json.js";
import type { RegistryRecords } from "../codec/registry.js";
import { registryDefinition } from "../definitions.js";
import { type ChangeRequest, ChangeRequestSchema, type RegistryState, RegistryStateSchema } from "../gen/v1/registry_pb.js";
import { errorOf } from "../refusal.js";
import { callUnary, type UnaryCallOptions } from "../unary.js";

interface JsonState {
  readonly snapshot: RegistrySnapshot;
  readonly records?: RegistryRecords | undefined;
}

export function toStateV01(number: number, state: JsonState): RegistryState {
  return create(RegistryStateSchema, { number: BigInt(number), body: toJson(state) });
}

/** Fields that were `undefined` are missing afterwards; nothing depends on the difference. */
export function fromStateV01({ body }: RegistryState): JsonState {
  const { snapshot, records } = fromJson(body) as JsonState;
  return { snapshot, records };
}

/** Changes by name; their arguments travel without the abort signal, which becomes the call's own. */
const CHANGES = [
  "register",
  "checkRegistration",
  "checkDeployment",
  "update",
  "remove",
  "modifyService",
  "createKafkaCluster",
  "updateKafkaCluster",
  "removeKafkaCluster",
  "createSubscription",
  "removeSubscription",
  "pauseSubscription",
  "skipRecord",
  "putRules",
  "deleteRules",
] as const satisfies readonly (keyof Registry)[];
export type ChangeMethod = (typeof CHANGES)[number];

/** The result of a change, and the options of the revisions that a dry run returned, which no state shows. */
interface ChangeResult {
  readonly value: unknown;
  /** Options of the services of the deployment that `value` is or holds, in their order; empty when it names none. */
  readonly effective: readonly EffectiveOptions[];
}

/** The result of a change, and the number of the state that shows it. */
interface AnsweredChange {
  readonly value: unknown;
  readonly deployment: DeploymentRecord | undefined;
  readonly effective: readonly EffectiveOptions[];
  readonly stateNumber: bigint;
}

export async function changeV01(
  client: Client,
  method: ChangeMethod,
  values: readonly unknown[],
  options: UnaryCallOptions,
): Promise<AnsweredChange> {
  const request = create(ChangeRequestSchema, { method, arguments: toJson(values) });
  const { outcome } = await callUnary(client, registryDefinition.change, request, options);
  switch (outcome.case) {
    case "changed": {
      const { value, effective } = fromJson(outcome.value.result) as ChangeResult;
      return { value: value ?? undefined, deployment: deploymentIn(value), effective, stateNumber: outcome.value.stateNumber };
    }
    case "refused":
      throw errorOf(outcome.value);
    case undefined:
      throw new PerdureError("OPS0003", "a registry returned an empty answer");
  }
}

export async function answerChangeV01(
  registry: Registry,
  { method, arguments: body }: ChangeRequest,
  signal: AbortSignal,
): Promise<ChangeResult> {
  if (!CHANGES.includes(method as ChangeMethod)) throw new PerdureError("OPS0003", `there is no change '${method}'`);
  const change = registry[method as ChangeMethod] as (...values: unknown[]) => Promise<unknown>;
  const value = await change.call(registry, ...(fromJson(body) as unknown[]), signal);
  const deployment = deploymentIn(value);
  const services = deployment?.services ?? [];
  const effective = services.map((revision) => registry.effective({ deployment: deployment as DeploymentRecord, revision }));
  return { value, effective };
}

/** Changes resolve with a deployment, with something that has one, or with something else. */
function deploymentIn(value: unknown): DeploymentRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = "deployment" in value ? value.deployment : value;
  const isDeployment = typeof record === "object" && record !== null && "services" in record && Array.isArray(record.services);
  return isDeployment ? (record as DeploymentRecord) : undefined;
}
