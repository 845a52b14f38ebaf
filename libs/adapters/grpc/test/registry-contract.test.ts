/** The registry's messages keep every value, refuse unknown ones, and can be read by processes of v0.1. */
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type EventSubscriptionId, newDeploymentId, newSubscriptionId, type Random, silentLogger } from "@perdure/base";
import type { HandlerView, RetryPolicy, ServiceView } from "@perdure/control";
import type { HandlerDefinition, ManifestOptions } from "@perdure/manifest";
import type { DeploymentRecord, RegistryRefusal, RuleChange, Verification, VerificationFinding } from "@perdure/metadata";
import { createTestRegistry } from "@perdure/registry/testing";
import { EVENT_TYPES } from "@perdure/state-machine";
import { SeededRandom } from "@perdure/testkit";
import fc from "fast-check";
import * as deploymentCodec from "../src/codec/deployment.js";
import * as eventCodec from "../src/codec/events.js";
import type { FieldCodec } from "../src/codec/form.js";
import { fromJson, toJson } from "../src/codec/json.js";
import * as codec from "../src/codec/registry.js";
import * as ruleCodec from "../src/codec/rules.js";
import * as snapshotCodec from "../src/codec/snapshot.js";
import * as proto from "../src/gen/v1/registry_pb.js";
import { registryDefinition, registryHandlers } from "../src/index.js";
import { TestServer } from "../src/testing/index.js";
import { checkedV01 } from "../src/v01/checked.js";
import { changeV01, fromStateV01 } from "../src/v01/registry.js";

const random: Random = new SeededRandom(16);
const absent = { nil: undefined };
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, absent);
const text = fc.string();
const texts = fc.dictionary(fc.stringMatching(/^[a-z-]{1,9}$/), text, { noNullPrototype: true });
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const small = fc.nat({ max: 0xffff_ffff });
const real = fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 });
const flag = fc.boolean();
const deploymentId = fc.constant(0).map(() => newDeploymentId(1, random));
const subscriptionId = fc.constant(0).map(() => newSubscriptionId(1, random));
const serviceKind = fc.constantFrom("service", "virtualObject", "workflow");
const handlerKind = fc.constantFrom("exclusive", "shared", "workflow");
const onMaxAttempts = fc.constantFrom("pause", "kill");
const protocolType = fc.constantFrom("bidiStream", "requestResponse");
const code = fc.constantFrom("RT0016", "META0004");
const schema = maybe(fc.constantFrom({ type: "object" }, true, null, [1]));

const options: fc.Arbitrary<ManifestOptions> = fc.record({
  inactivityTimeoutMs: maybe(real),
  abortTimeoutMs: maybe(real),
  journalRetentionMs: maybe(real),
  idempotencyRetentionMs: maybe(real),
  enableLazyState: maybe(flag),
  ingressPrivate: maybe(flag),
  retry: fc.record({
    initialIntervalMs: maybe(real),
    factor: maybe(real),
    maxIntervalMs: maybe(real),
    maxAttempts: maybe(count),
    onMaxAttempts: maybe(onMaxAttempts),
  }),
});
const handler: fc.Arbitrary<HandlerDefinition> = fc.record({
  name: text,
  kind: handlerKind,
  documentation: maybe(text),
  metadata: texts,
  input: fc.record({ none: flag, required: flag, contentType: text, jsonSchema: schema }),
  output: fc.record({ contentType: maybe(text), setContentTypeIfEmpty: flag, jsonSchema: schema }),
  options,
  workflowCompletionRetentionMs: maybe(real),
});
const rules = fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), text, { minKeys: 1, noNullPrototype: true });
const overrides = fc.record({
  public: maybe(flag),
  idempotencyRetentionMs: maybe(real),
  workflowCompletionRetentionMs: maybe(real),
  journalRetentionMs: maybe(real),
  inactivityTimeoutMs: maybe(real),
  abortTimeoutMs: maybe(real),
  stateTtlMs: maybe(real),
  debounce: maybe(rules),
  throttle: maybe(rules),
});
const command = fc.record({ type: text, name: maybe(text) });
const finding: fc.Arbitrary<VerificationFinding> = fc.record({
  kind: fc.constantFrom("journalMismatch", "handlerMissing", "protocolVersion", "failed", "unclear", "outputDiffers", "skipped"),
  service: text,
  handler: text,
  invocations: count,
  invocationId: text,
  status: text,
  deploymentId: text,
  code: maybe(code),
  commandIndex: maybe(count),
  expected: maybe(command),
  actual: maybe(command),
  message: text,
  stacktrace: maybe(text),
});
const verification: fc.Arbitrary<Verification> = fc.record({
  checkedAtMs: count,
  durationMs: real,
  found: count,
  checked: count,
  compatible: count,
  incompatible: count,
  failed: count,
  skipped: count,
  isComplete: flag,
  findings: fc.array(finding, { maxLength: 3 }),
  findingsLeftOut: count,
});
const address: fc.Arbitrary<DeploymentRecord["address"]> = fc.oneof(
  fc.record({ kind: fc.constant("http" as const), uri: text, httpVersion: fc.constantFrom("HTTP/1.1", "HTTP/2.0") }),
  fc.record({
    kind: fc.constant("lambda" as const),
    arn: text,
    assumeRoleArn: maybe(text),
    compression: fc.constantFrom(undefined, "zstd"),
  }),
);
const deployment: fc.Arbitrary<DeploymentRecord> = fc.record({
  id: deploymentId,
  address,
  additionalHeaders: texts,
  metadata: texts,
  createdAtMs: count,
  protocolType,
  minProtocolVersion: small,
  maxProtocolVersion: small,
  sdkVersion: maybe(text),
  services: fc.array(
    fc.record({
      definition: fc.record({
        name: text,
        kind: serviceKind,
        documentation: maybe(text),
        metadata: texts,
        options,
        handlers: fc.array(handler, { maxLength: 2 }),
      }),
      revision: small,
      overrides,
    }),
    { maxLength: 2 },
  ),
  verification: maybe(verification),
});
const retryPolicy: fc.Arbitrary<RetryPolicy> = fc.record({
  initialIntervalMs: real,
  factor: real,
  maxIntervalMs: maybe(real),
  maxAttempts: maybe(count),
  onMaxAttempts,
});
const effective = fc.record({
  public: flag,
  idempotencyRetentionMs: real,
  workflowCompletionRetentionMs: maybe(real),
  journalRetentionMs: real,
  inactivityTimeoutMs: real,
  abortTimeoutMs: real,
  stateTtlMs: maybe(real),
  enableLazyState: flag,
  retry: retryPolicy,
  notices: fc.array(fc.record({ code, message: text })),
});
const rate = fc.record({ limit: real, periodMs: real, burst: real });
const flowRule = {
  pattern: text,
  concurrency: maybe(count),
  rate: maybe(rate),
  weight: real,
  priority: maybe(small),
  disabled: flag,
};
const rule = fc.record({ ...flowRule, description: maybe(text), version: count, lastModifiedMs: count });
const cluster = fc.record({ name: text, properties: texts, createdAtMs: count });
const subscription = fc.record({
  id: subscriptionId,
  source: text,
  sink: text,
  options: texts,
  paused: flag,
  skipped: fc.array(fc.record({ partition: small, offset: count })),
});
const handlerView: fc.Arbitrary<HandlerView> = fc.record({
  service: text,
  handler: text,
  serviceType: serviceKind,
  handlerType: handlerKind,
  public: flag,
  input: fc.record({ none: flag, required: flag, contentType: text }),
  output: fc.record({ contentType: maybe(text), setContentTypeIfEmpty: flag }),
  idempotencyRetentionMs: real,
  workflowRetentionMs: real,
  journalRetentionMs: real,
  inactivityTimeoutMs: real,
  abortTimeoutMs: real,
  enableLazyState: flag,
  retryPolicy,
  debounce: maybe(text),
  throttle: maybe(text),
});
const named = <T>(values: fc.Arbitrary<T>) =>
  fc.array(fc.tuple(text, values), { maxLength: 2 }).map((entries) => new Map(entries));
const serviceView: fc.Arbitrary<ServiceView> = fc.record({
  name: text,
  serviceType: serviceKind,
  revision: small,
  deploymentId,
  handlers: named(handlerView),
});
const eventSubscription = fc.record({
  id: fc.constant("evs_15ChR1PDwZt22Rn2lfZrRo5" as EventSubscriptionId),
  types: fc.subarray([...EVENT_TYPES]),
  filter: fc.record({ service: maybe(text), handler: maybe(text), scope: maybe(text) }),
  target: fc.record({ service: text, handler: text }),
  webhook: maybe(fc.record({ url: text, secrets: fc.array(text, { maxLength: 2 }) })),
  description: maybe(text),
  createdAtMs: count,
});
const snapshot = fc.record({
  services: named(serviceView),
  deployments: fc
    .array(
      fc.record({
        id: deploymentId,
        address,
        additionalHeaders: texts,
        protocolType,
        minProtocolVersion: small,
        maxProtocolVersion: small,
        services: named(serviceView),
      }),
      { maxLength: 2 },
    )
    .map((all) => new Map(all.map((one) => [one.id, one]))),
  rules: fc.array(fc.record(flowRule), { maxLength: 3 }),
  events: maybe(fc.array(eventSubscription, { minLength: 1, maxLength: 2 })),
});
const records = fc.record({
  deployments: fc.array(deployment, { maxLength: 2 }),
  effective: named(effective),
  latest: fc.array(fc.record({ deploymentId: text, name: text })),
  kafkaClusters: fc.array(cluster),
  subscriptions: fc.array(subscription),
  rules: fc.array(rule),
  eventSubscriptions: fc.array(eventSubscription, { maxLength: 2 }),
});
const ruleChange: fc.Arbitrary<RuleChange> = fc.record({
  pattern: text,
  concurrency: maybe(count),
  rate: fc.oneof(maybe(rate), fc.constant(null)),
  weight: fc.oneof(maybe(real), fc.constant(null)),
  priority: fc.oneof(maybe(small), fc.constant(null)),
  description: maybe(text),
  disabled: flag,
  precondition: fc.oneof(
    fc.constantFrom({ kind: "none" } as const, { kind: "doesNotExist" } as const),
    fc.record({ kind: fc.constant("matches" as const), version: count }),
  ),
});
const requestedAddress = fc.oneof(
  fc.record({ kind: fc.constant("http" as const), uri: text, useHttp11: flag }),
  fc.record({ kind: fc.constant("lambda" as const), arn: text, assumeRoleArn: maybe(text) }),
);
const registration = fc.record({
  address: requestedAddress,
  additionalHeaders: texts,
  metadata: texts,
  force: flag,
  breaking: flag,
  dryRun: flag,
  acceptUnchanged: flag,
  verification: maybe(verification),
});
const update = fc.record({
  address: maybe(requestedAddress),
  additionalHeaders: maybe(texts),
  overwrite: flag,
  dryRun: flag,
});
const bounds = fc.record({
  inFlightPerHandler: maybe(count),
  completedPerHandler: maybe(count),
  invocations: maybe(count),
  timeoutMs: maybe(real),
  replayTimeoutMs: maybe(real),
  bytes: maybe(count),
  concurrency: maybe(count),
});

function keeps<T, Schema extends DescMessage>(
  values: fc.Arbitrary<T>,
  schema: Schema,
  form: FieldCodec<T, MessageShape<Schema>>,
): void {
  fc.assert(
    fc.property(values, (value) => {
      expect(form.from(fromBinary(schema, toBinary(schema, form.to(value))))).toEqual(value);
      expect(checkedV01(schema, form, fromJson(toJson(value)), "a value")).toEqual(value);
    }),
    { numRuns: 50 },
  );
}

describe("messages, and the form of v0.1, keep", () => {
  test("the state, with and without records", () => {
    keeps(snapshot, proto.RegistrySnapshotSchema, snapshotCodec.snapshot);
    keeps(records, proto.RegistryRecordsSchema, codec.records);
  });

  test("requests", () => {
    keeps(registration, proto.RegistrationSchema, codec.registration);
    keeps(update, proto.UpdateDeploymentRequestSchema, codec.deploymentUpdate);
    keeps(bounds, proto.CheckBoundsSchema, codec.checkBounds);
    keeps(overrides, proto.ServiceOverridesSchema, deploymentCodec.overrides);
    keeps(ruleChange, proto.RuleChangeSchema, ruleCodec.ruleChange);
    const { types, filter, target } = fc.sample(eventSubscription, { numRuns: 1, seed: 16 })[0]!;
    for (const destination of [
      { kind: "handler", target },
      { kind: "webhook", url: "https://a.example/" },
    ] as const) {
      const request = { types, filter, destination, description: "a" };
      expect(eventCodec.eventSubscriptionRequest.from(eventCodec.eventSubscriptionRequest.to(request))).toEqual(request);
    }
  });

  test("nothing that no type has", () => {
    const [example] = fc.sample(deployment, { numRuns: 1, seed: 16 });
    const message = deploymentCodec.deployment.to(example as DeploymentRecord);
    const { address: _address, ...withoutAddress } = message;
    for (const broken of [{ ...message, id: "dp_1" }, { ...message, protocolType: 9 }, withoutAddress]) {
      expect(() => deploymentCodec.deployment.from(broken as proto.Deployment)).toThrow("[OPS0003]");
    }
  });
});

describe("a process of v0.1", () => {
  const opened: (() => void)[] = [];
  afterEach(() => {
    for (const close of opened.splice(0).reverse()) close();
  });

  test("is answered in its own form", async () => {
    const registry = await createTestRegistry();
    const server = await TestServer.start(registryDefinition, registryHandlers(registry, silentLogger));
    opened.push(() => server.stop());
    const channel = server.connect();
    const callOptions = { deadlineMs: 10_000, callee: "the registry" };
    const properties = { "bootstrap.servers": "localhost:1" };
    const { value } = await changeV01(channel, "createKafkaCluster", ["k1", properties], callOptions);
    expect(value).toEqual(registry.kafkaCluster("k1"));
    const refusal = changeV01(channel, "removeKafkaCluster", ["nope", false], callOptions);
    await expect(refusal).rejects.toMatchObject({ status: 404 } satisfies Partial<RegistryRefusal>);
    await expect(changeV01(channel, "drop" as never, [], callOptions)).rejects.toMatchObject({ code: "OPS0003" });
    const { path, requestSerialize, responseDeserialize } = registryDefinition.watch;
    const stream = channel.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {
      $typeName: "perdure.control.v1.WatchRegistryRequest",
      withRecords: true,
    });
    const state = await new Promise<proto.RegistryState>((resolve) => stream.once("data", resolve));
    stream.on("error", () => undefined);
    stream.cancel();
    expect(fromStateV01(state).records?.kafkaClusters).toEqual(registry.kafkaClusters());
  });
});
