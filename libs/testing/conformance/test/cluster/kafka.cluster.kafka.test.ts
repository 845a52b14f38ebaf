/** Topics into a cluster: workers share the partitions of a topic and hand them over, and every record is handled once and in order. */

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DevCluster, type ServiceProgram } from "@perdure/dev-cluster";
import { type KafkaServer, startKafka } from "@perdure/servers";
import kafkajs, { type Kafka, type Producer } from "kafkajs";
import { eventually, SdkEndpoint, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { ledgerObject } from "../../src/services/ledger.js";

const WHOLE_TEST_MS = 400_000;
const LONG_MS = 120_000;
const PARTITIONS = 6;
const KEYS = 30;

interface Status {
  readonly state: string;
  readonly paused: boolean;
  readonly assigned_partitions: readonly number[];
  readonly positions: readonly { readonly partition: number; readonly next_offset: number; readonly lag: number }[];
  readonly stuck_at: { readonly partition: number; readonly offset: number; readonly reason: string } | null;
  readonly skipped: readonly object[];
}

let broker: KafkaServer;
let kafka: Kafka;
let producer: Producer;
let cluster: DevCluster;
let endpoint: SdkEndpoint;
let admin: TestAdminClient;
let ingress: TestIngressClient;

beforeAll(async () => {
  broker = await startKafka();
  kafka = new kafkajs.Kafka({ brokers: [broker.brokers], logLevel: kafkajs.logLevel.NOTHING });
  producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const fixed = [{ name: "fixed", brokers: [broker.brokers], "fetch.wait.max.ms": 50 }];
  const settings = { registry: { "ingress.kafka-clusters": JSON.stringify(fixed) } };
  cluster = await DevCluster.start({ gateways: 1, settings });
  endpoint = await SdkEndpoint.start({ services: [ledgerObject], kind: "h2-bidi" });
  admin = new TestAdminClient(cluster.adminUrl);
  ingress = new TestIngressClient(cluster.ingressUrls[0] as string);
  await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), LONG_MS);
  const made = await admin.post("/kafka-clusters", {
    name: "added",
    properties: {
      "bootstrap.servers": broker.brokers,
      "session.timeout.ms": "3000",
      "heartbeat.interval.ms": "500",
      "fetch.wait.max.ms": "50",
    },
  });
  expect(made.status).toBe(201);
}, WHOLE_TEST_MS);
afterAll(async () => {
  admin[Symbol.dispose]();
  ingress[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
  await producer.disconnect();
  await broker[Symbol.asyncDispose]();
}, WHOLE_TEST_MS);

async function aTopic(topic: string, numPartitions: number): Promise<void> {
  const maker = kafka.admin();
  await maker.connect();
  await maker.createTopics({ topics: [{ topic, numPartitions }], waitForLeaders: true });
  await maker.disconnect();
}

async function subscribe(source: string): Promise<string> {
  const options = { "auto.offset.reset": "earliest" };
  const answer = await admin.post("/subscriptions", { source: `kafka://${source}`, sink: "service://Ledger/book", options });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return (answer.json as { id: string }).id;
}

/** Undefined while a worker that is gone is still believed to be there. */
async function status(id: string): Promise<Status | undefined> {
  const answer = await admin.get(`/subscriptions/${id}/status`);
  return answer.status === 200 ? (answer.json as Status) : undefined;
}
const ledgerNumbers = (key: string) => ingress.result<number[]>(["Ledger", key, "numbers"]);
const metrics = async (worker: ServiceProgram): Promise<string> => {
  const { probes } = await worker.ready();
  return (await fetch((probes as string).replace("/readyz", "/metrics").replace("localhost", "127.0.0.1"))).text();
};
/** Value of a series; 0 when there is none. */
const numberOf = (text: string, series: string): number =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.split(" ")
      .at(-1) ?? 0,
  );
const consumed = async (worker: ServiceProgram) =>
  numberOf(await metrics(worker), 'perdure_worker_kafka_consumed_total{result="invoked"}');

describe("a topic", () => {
  test(
    "is shared by the workers, and every record is handled once and in order while one joins, one dies and one leaves",
    async () => {
      await aTopic("orders", PARTITIONS);
      const id = await subscribe("added/orders");
      let produced = 0;
      let isOver = false;
      const producing = (async () => {
        while (!isOver) {
          const messages = Array.from({ length: 20 }, () => {
            const n = produced++;
            return { key: `key ${n % KEYS}`, value: JSON.stringify({ n }) };
          });
          await producer.send({ topic: "orders", messages });
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      })();
      const [first, second] = cluster.workers as [ServiceProgram, ServiceProgram];
      await eventually("both read", async () => (await consumed(first)) > 50 && (await consumed(second)) > 50, LONG_MS);
      expect([...((await status(id))?.assigned_partitions ?? [])]).toEqual(Array.from({ length: PARTITIONS }, (_, n) => n));

      const third = await cluster.addWorker();
      await eventually("the one that joins reads", async () => (await consumed(third)) > 50, LONG_MS);
      await first.kill();
      const atDeath = (await consumed(second)) + (await consumed(third));
      await eventually(
        "the others read what the dead one did",
        async () => {
          const now = await status(id);
          const isAll = new Set(now?.assigned_partitions).size === PARTITIONS;
          return isAll && (await consumed(second)) + (await consumed(third)) > atDeath + 200;
        },
        LONG_MS,
      );
      expect(await second.stop()).toMatchObject({ code: 0 });
      isOver = true;
      await producing;
      await eventually(
        "the last one has read everything",
        async () => {
          const now = await status(id);
          const isRead = now?.positions.every(({ lag }) => lag === 0) === true;
          const read = now?.positions.reduce((sum, each) => sum + each.next_offset, 0);
          return isRead && now?.positions.length === PARTITIONS && read === produced;
        },
        LONG_MS,
      );
      for (let key = 0; key < KEYS; key++) {
        const expected = Array.from({ length: produced }, (_, n) => n).filter((n) => n % KEYS === key);
        await eventually(
          "all of a key is booked",
          async () => (await ledgerNumbers(`key ${key}`)).length >= expected.length,
          LONG_MS,
        );
        expect(await ledgerNumbers(`key ${key}`)).toEqual(expected);
      }
      const [row] = await admin.query(
        "SELECT count(1) AS n FROM sys_invocation WHERE target_handler_name = 'book' AND invoked_by = 'subscription'",
      );
      expect(row).toEqual({ n: produced });
      await second.startAgain();
      await first.startAgain();
      await Promise.all([first.ready(), second.ready()]);
    },
    WHOLE_TEST_MS,
  );

  test(
    "of a cluster named in settings is paused, resumed and repaired through the management API, whichever worker reads it",
    async () => {
      await aTopic("mended", 2);
      const id = await subscribe("fixed/mended");
      expect((await admin.patch("/kafka-clusters/fixed", { properties: { "bootstrap.servers": "x:1" } })).status).toBe(409);
      await producer.send({
        topic: "mended",
        messages: [
          { partition: 0, key: "m0", value: '{"n":1}' },
          { partition: 0, key: Buffer.from([0xc3, 0x28]), value: "{}" },
          { partition: 0, key: "m0", value: '{"n":2}' },
          { partition: 1, key: "m1", value: '{"n":1}' },
        ],
      });
      await eventually("the record that no handler can take is shown", async () => (await status(id))?.stuck_at != null, LONG_MS);
      expect((await status(id))?.stuck_at).toEqual({ partition: 0, offset: 1, reason: "the record's key is not UTF-8" });
      await eventually("the other partition continues", async () => (await ledgerNumbers("m1")).length === 1, LONG_MS);
      const behind = `perdure_worker_kafka_partition_lag_records{subscription="${id}",partition="0"}`;
      await eventually(
        "metrics report how far it is behind, and that it is stuck",
        async () => {
          const texts = await Promise.all(cluster.workers.map(metrics));
          const stuck = texts.map((text) => numberOf(text, "perdure_worker_kafka_subscriptions_stuck"));
          return texts.some((text) => numberOf(text, behind) === 2) && stuck.reduce((a, b) => a + b) === 1;
        },
        LONG_MS,
      );
      expect((await admin.post(`/subscriptions/${id}/skip`, { partition: 0, offset: 1 })).status).toBe(200);
      await eventually("what is behind it is handled", async () => (await ledgerNumbers("m0")).length === 2, LONG_MS);

      expect((await admin.post(`/subscriptions/${id}/pause`, {})).json).toMatchObject({ paused: true });
      await eventually("every worker rests", async () => (await status(id))?.state === "paused", LONG_MS);
      await producer.send({ topic: "mended", messages: [{ partition: 1, key: "m1", value: '{"n":2}' }] });
      expect((await status(id))?.assigned_partitions).toEqual([]);
      expect(await ledgerNumbers("m1")).toEqual([1]);
      expect((await admin.post(`/subscriptions/${id}/resume`, {})).json).toMatchObject({ paused: false });
      await eventually("it continues", async () => (await ledgerNumbers("m1")).length === 2, LONG_MS);

      const refused = await admin.post("/subscriptions", { source: "kafka://fixed/t", sink: "service://Ledger/nope" });
      expect([refused.status, refused.json]).toMatchObject([400, { restate_code: "META0009" }]);
      expect((await admin.delete("/kafka-clusters/added")).status).toBe(409);
      expect((await admin.delete(`/subscriptions/${id}`)).status).toBe(202);
      await eventually("no worker reads it any more", async () =>
        (await Promise.all(cluster.workers.map(metrics))).every((text) => !text.includes(id)),
      );
    },
    WHOLE_TEST_MS,
  );
});
