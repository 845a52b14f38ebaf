/** Subscriptions that consume records of a real broker into partitions. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { type KafkaServer, startKafka } from "@perdure/servers";
import { runSubscriptions, type Subscriptions } from "@perdure/subscriptions";
import kafkajs, { type IHeaders, type Kafka, type Producer } from "kafkajs";
import { createKafkaSource } from "../src/index.js";
import { RecordedDeliveries, TestRegistry } from "./world.js";

let broker: KafkaServer;
let kafka: Kafka;
let producer: Producer;
const opened: AsyncDisposable[] = [];
let topics = 0;

beforeAll(async () => {
  broker = await startKafka();
  kafka = new kafkajs.Kafka({ brokers: [broker.brokers], logLevel: kafkajs.logLevel.NOTHING });
  producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
}, 300_000);
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});
afterAll(async () => {
  await producer.disconnect();
  await broker[Symbol.asyncDispose]();
});

async function aTopic(numPartitions = 2): Promise<string> {
  const topic = `t${++topics}`;
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions }], waitForLeaders: true });
  await admin.disconnect();
  return topic;
}

const produce = (
  topic: string,
  messages: readonly { key?: string | Buffer | null; value: string; partition?: number; headers?: IHeaders }[],
  compression = 0,
) => producer.send({ topic, compression, messages: messages.map(({ key = null, ...rest }) => ({ key, ...rest })) });
const numbered = (count: number, partition = 0) => Array.from({ length: count }, (_, n) => ({ value: `${n}`, partition }));

function aRegistry(): TestRegistry {
  const registry = new TestRegistry({
    "bootstrap.servers": broker.brokers,
    "session.timeout.ms": "6000",
    "fetch.wait.max.ms": "50",
  });
  registry.serve("Svc", "service");
  return registry;
}

function consume(registry: TestRegistry, deliveries: RecordedDeliveries, scopesEnabled = false): Subscriptions {
  const ports = { clock: systemClock, logger: silentLogger };
  const subscriptions = runSubscriptions({ registry, source: createKafkaSource(ports), deliveries, ...ports, scopesEnabled });
  opened.push(subscriptions);
  return subscriptions;
}

async function until(holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 10) {
    if (waited > 40_000) throw new Error("that did not happen");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("a subscription", () => {
  test("delivers every record once, in the order of its topic partition, and reports its progress", async () => {
    const topic = await aTopic();
    const registry = aRegistry();
    registry.put({ source: `kafka://k1/${topic}` });
    await produce(topic, [...numbered(1_500, 0), ...numbered(1_500, 1)]);
    const deliveries = new RecordedDeliveries();
    const subscriptions = consume(registry, deliveries);
    await until(
      () => deliveries.accepted.length === 3_000 && subscriptions.statuses()[0]?.positions.every(({ lag }) => lag === 0) === true,
    );
    for (const partition of ["0", "1"]) {
      const offsets = deliveries
        .headers()
        .filter((headers) => headers["kafka.partition"] === partition)
        .map((headers) => Number(headers["kafka.offset"]));
      expect(offsets).toEqual(Array.from({ length: 1_500 }, (_, n) => n));
    }
    const [status] = subscriptions.statuses();
    expect(status).toMatchObject({ state: "consuming", handledCount: 3_000, stuck: undefined });
    expect([...(status?.assigned ?? [])].sort()).toEqual([0, 1]);
    expect(status?.positions.map(({ next }) => next)).toEqual([1_500, 1_500]);
  }, 60_000);

  test("passes the origin of the record to the handler", async () => {
    const topic = await aTopic(1);
    const registry = aRegistry();
    registry.serve("Obj", "virtualObject");
    const { id } = registry.put({ source: `kafka://k1/${topic}`, sink: "service://Obj/take" });
    await produce(topic, [{ key: "ä?>", value: '{"n":1}' }, { value: "" }]);
    const deliveries = new RecordedDeliveries();
    consume(registry, deliveries);
    await until(() => deliveries.accepted.length === 2);
    expect(deliveries.accepted.map(({ command }) => command.facts.target)).toMatchObject([
      { service: "Obj", handler: "take", key: "ä?>", handlerType: "exclusive" },
      { service: "Obj", handler: "take", key: "" },
    ]);
    const [first, second] = deliveries.headers();
    const common = { "kafka.topic": topic, "kafka.partition": "0", "restate.subscription.id": id };
    expect(first).toEqual({
      ...common,
      "kafka.offset": "0",
      "kafka.key": "w6Q_Pg==",
      "kafka.timestamp": expect.stringMatching(/^\d{13}$/),
    });
    expect(Object.keys(second ?? {})).not.toContain("kafka.key");
    expect(deliveries.accepted[0]?.command.facts.source).toEqual({ kind: "subscription", subscriptionId: id });
    expect(deliveries.inputs()).toEqual(['{"n":1}', ""]);
  }, 60_000);

  test.each([
    [true, { scope: "acme", limitKey: "tenant1/ann" }],
    [false, { scope: undefined, limitKey: undefined }],
  ])(
    "takes scope and limit key from headers of the record where that is enabled (%s)",
    async (scopesEnabled, expected) => {
      const topic = await aTopic(1);
      const registry = aRegistry();
      registry.put({ source: `kafka://k1/${topic}` });
      const headers = { "x-restate-scope": "acme", "x-restate-limit-key": "tenant1/ann" };
      await produce(topic, [{ value: "scoped", headers }, { value: "plain" }]);
      const deliveries = new RecordedDeliveries();
      consume(registry, deliveries, scopesEnabled);
      await until(() => deliveries.accepted.length === 2);
      const scopes = deliveries.accepted.map(({ command: { facts } }) => ({
        scope: facts.target.scope,
        limitKey: facts.limitKey,
      }));
      expect(scopes).toEqual([expected, { scope: undefined, limitKey: undefined }]);
    },
    60_000,
  );

  test("that is closed and opened again continues after the handled records, and delivers none twice", async () => {
    const topic = await aTopic(1);
    const registry = aRegistry();
    registry.put({ source: `kafka://k1/${topic}`, options: { "group.id": topic, "auto.offset.reset": "earliest" } });
    const deliveries = new RecordedDeliveries();
    for (let round = 1; round <= 3; round++) {
      await produce(topic, numbered(200));
      const subscriptions = consume(registry, deliveries);
      await until(() => deliveries.accepted.length === round * 200);
      await subscriptions[Symbol.asyncDispose]();
    }
    expect(deliveries.headers().map((headers) => Number(headers["kafka.offset"]))).toEqual(
      Array.from({ length: 600 }, (_, n) => n),
    );
  }, 60_000);

  test("offers a record again when its partition cannot take it, and keeps the order", async () => {
    const topic = await aTopic(1);
    const registry = aRegistry();
    registry.put({ source: `kafka://k1/${topic}`, options: { "group.id": topic, "auto.offset.reset": "earliest" } });
    await produce(topic, numbered(500));
    const deliveries = new RecordedDeliveries();
    let offers = 0;
    deliveries.takes = () => ++offers % 97 !== 0; // Some offers find the partition without a leader.
    consume(registry, deliveries);
    await until(() => deliveries.accepted.length === 500);
    const byPartition = new Map<string, number[]>();
    for (const { producer: name, seq, command } of deliveries.accepted) {
      const place = `${name} ${command.id.slice(0, 8)}`;
      byPartition.set(place, [...(byPartition.get(place) ?? []), seq]);
    }
    expect(deliveries.accepted.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(Array.from({ length: 500 }, (_, n) => n));
    for (const seqs of byPartition.values()) expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  }, 60_000);

  test("stops at a record that cannot be handled, reports it, and continues when the record is skipped or can be handled", async () => {
    const topic = await aTopic(1);
    const registry = aRegistry();
    registry.serve("Obj", "virtualObject");
    const record = registry.put({
      source: `kafka://k1/${topic}`,
      sink: "service://Obj/take",
      options: { "group.id": topic, "auto.offset.reset": "earliest" },
    });
    await produce(topic, [
      { key: "a", value: "1" },
      { key: Buffer.from([0xff, 0xfe]), value: "2" },
      { key: "c", value: "3" },
    ]);
    const deliveries = new RecordedDeliveries();
    const subscriptions = consume(registry, deliveries);
    await until(() => subscriptions.statuses()[0]?.state === "backingOff");
    expect(subscriptions.statuses()[0]).toMatchObject({
      stuck: { partition: 0, offset: 1, reason: "the record's key is not UTF-8" },
      lastFailure: "the record's key is not UTF-8",
      nextRetryAtMs: expect.any(Number),
    });
    expect(deliveries.inputs()).toEqual(["1"]);
    registry.put({ ...record, skipped: [{ partition: 0, offset: 1 }] });
    await until(() => deliveries.accepted.length === 2);
    expect(deliveries.inputs()).toEqual(["1", "3"]);
    await until(() => subscriptions.statuses()[0]?.stuck === undefined);
  }, 60_000);

  test("continues in other partitions while one waits for a record that cannot be handled, and reports the lag of each", async () => {
    const topic = await aTopic(2);
    const registry = aRegistry();
    registry.serve("Obj", "virtualObject");
    const record = registry.put({
      source: `kafka://k1/${topic}`,
      sink: "service://Obj/take",
      options: { "group.id": topic, "auto.offset.reset": "earliest" },
    });
    const poison = { key: Buffer.from([0xff]), value: "poison", partition: 0 };
    await produce(topic, [poison, ...numbered(5, 0), ...numbered(50, 1)]);
    const deliveries = new RecordedDeliveries();
    const subscriptions = consume(registry, deliveries);
    await until(() => deliveries.accepted.length === 50 && subscriptions.statuses()[0]?.stuck !== undefined);
    await produce(topic, numbered(50, 1));
    await until(() => deliveries.accepted.length === 100); // The consumer stayed in its group meanwhile.
    await until(() => subscriptions.statuses()[0]?.positions.length === 2);
    expect(subscriptions.statuses()[0]).toMatchObject({
      assigned: expect.arrayContaining([0, 1]),
      positions: expect.arrayContaining([
        { partition: 0, next: 0, lag: 6 },
        { partition: 1, next: 100, lag: 0 },
      ]),
      stuck: { partition: 0, offset: 0 },
    });
    registry.put({ ...record, skipped: [{ partition: 0, offset: 0 }] });
    await until(() => deliveries.accepted.length === 105);
    expect(subscriptions.counts()).toMatchObject({ invoked: 105, skipped: 1 });
    expect(subscriptions.counts().stuck).toBeGreaterThan(0);
  }, 60_000);

  test("is shared by several readers: a new reader gets partitions, and those of a reader that leaves or crashes move to the others, each record once", async () => {
    const topic = await aTopic(6);
    const registry = aRegistry();
    registry.put({ source: `kafka://k1/${topic}`, options: { "group.id": topic, "auto.offset.reset": "earliest" } });
    const deliveries = new RecordedDeliveries(); // Both readers deliver to the same partitions.
    let total = 0;
    const more = async (): Promise<void> => {
      for (let partition = 0; partition < 6; partition++) await produce(topic, numbered(100, partition));
      total += 600;
    };
    const assigned = (of: Subscriptions) => of.statuses()[0]?.assigned.length ?? 0;
    const one = consume(registry, deliveries);
    await more();
    await until(() => assigned(one) === 6);
    const two = consume(registry, deliveries);
    await more();
    await until(() => assigned(one) === 3 && assigned(two) === 3);
    await more();
    await until(() => deliveries.accepted.length === total);
    await one[Symbol.asyncDispose]();
    await more();
    await until(() => assigned(two) === 6 && deliveries.accepted.length === total);
    const places = deliveries.headers().map((headers) => `${headers["kafka.partition"]}/${headers["kafka.offset"]}`);
    expect(new Set(places).size).toBe(total);
  }, 90_000);

  test("gives its topic partitions up in a rebalance, although partitions accept nothing", async () => {
    const topic = await aTopic(2);
    const registry = aRegistry();
    registry.put({ source: `kafka://k1/${topic}`, options: { "group.id": topic, "auto.offset.reset": "earliest" } });
    await produce(topic, [...numbered(50, 0), ...numbered(50, 1)]);
    const blocked = new RecordedDeliveries();
    let offers = 0;
    blocked.takes = () => ++offers < 0;
    const one = consume(registry, blocked);
    await until(() => offers > 0);
    const free = new RecordedDeliveries();
    const two = consume(registry, free);
    // Otherwise the group would wait five minutes for the member.
    await until(() => two.statuses()[0]?.assigned.length === 1 && free.accepted.length === 50);
    expect(one.statuses()[0]?.assigned).toHaveLength(1);
  }, 60_000);

  test("waits for a handler that is not registered yet", async () => {
    const topic = await aTopic(1);
    const registry = aRegistry();
    registry.put({
      source: `kafka://k1/${topic}`,
      sink: "service://Late/take",
      options: { "group.id": topic, "auto.offset.reset": "earliest" },
    });
    await produce(topic, numbered(3));
    const deliveries = new RecordedDeliveries();
    const subscriptions = consume(registry, deliveries);
    await until(() => subscriptions.statuses()[0]?.stuck !== undefined);
    expect(subscriptions.statuses()[0]?.stuck?.reason).toBe("'Late/take' is not registered");
    registry.serve("Late", "service");
    await until(() => deliveries.accepted.length === 3);
  }, 60_000);

  test("consumes nothing while it is paused", async () => {
    const topic = await aTopic(1);
    const registry = aRegistry();
    const options = { "group.id": topic, "auto.offset.reset": "earliest" };
    registry.put({ source: `kafka://k1/${topic}`, options, paused: true });
    await produce(topic, numbered(3));
    const deliveries = new RecordedDeliveries();
    const subscriptions = consume(registry, deliveries);
    expect(subscriptions.statuses()).toMatchObject([{ state: "paused", assigned: [] }]);
    registry.put({ source: `kafka://k1/${topic}`, options });
    await until(() => deliveries.accepted.length === 3);
    registry.put({ source: `kafka://k1/${topic}`, options, paused: true });
    await produce(topic, numbered(3));
    expect(subscriptions.statuses()).toMatchObject([{ state: "paused" }]);
    registry.put({ source: `kafka://k1/${topic}`, options });
    await until(() => deliveries.accepted.length === 6);
  }, 60_000);

  test("continues when its broker is available again", async () => {
    const topic = await aTopic(1);
    const registry = aRegistry();
    registry.put({ source: `kafka://k1/${topic}`, options: { "group.id": topic, "auto.offset.reset": "earliest" } });
    await produce(topic, numbered(10));
    const deliveries = new RecordedDeliveries();
    const subscriptions = consume(registry, deliveries);
    await until(() => deliveries.accepted.length === 10);
    await broker.kill();
    await until(() => subscriptions.statuses()[0]?.state === "backingOff");
    await broker.startAgain();
    await produce(topic, numbered(10));
    await until(() => deliveries.accepted.length === 20);
    expect(deliveries.inputs()).toHaveLength(20);
  }, 120_000);

  test.each([
    ["gzip", 1],
    ["Snappy", 2],
    ["LZ4", 3],
    ["Zstandard", 4],
  ])(
    "reads what producers compressed with %s",
    async (_name, compression) => {
      const topic = await aTopic(1);
      const registry = aRegistry();
      registry.put({ source: `kafka://k1/${topic}`, options: { "group.id": topic, "auto.offset.reset": "earliest" } });
      await produce(topic, numbered(300), compression);
      const deliveries = new RecordedDeliveries();
      consume(registry, deliveries);
      await until(() => deliveries.accepted.length === 300);
      expect(
        deliveries
          .inputs()
          .map(Number)
          .sort((a, b) => a - b),
      ).toEqual(Array.from({ length: 300 }, (_, n) => n));
    },
    60_000,
  );
});
