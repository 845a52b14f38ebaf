/**
 * Topics into a cluster: workers share the partitions of a topic, and when workers crash, each record is handled once and the records of a
 * key in order. `RECORDS=20000` makes the test long.
 */

import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { DevCluster, type ServiceProgram } from "@perdure/dev-cluster";
import { type KafkaServer, startKafka } from "@perdure/servers";
import kafkajs from "kafkajs";
import { eventually, SdkEndpoint, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { ledgerObject, relayService } from "../../src/services/ledger.js";

const WHOLE_TEST_MS = 600_000;
/** 20,000 records, 500 behind each other for each key, on a machine that does much else. */
const TIMEOUT_MS = 300_000;
const RECORDS = Number(process.env["RECORDS"] ?? 2_000);
const KEYS = 40;
/** Counting loads the cluster under test. */
const POLL_MS = 200;
const TOPIC_PARTITIONS = 4;

let broker: KafkaServer;
let cluster: DevCluster;
let endpoint: SdkEndpoint;
let admin: TestAdminClient;
beforeAll(async () => {
  [broker, cluster] = await Promise.all([startKafka(), DevCluster.start()]);
  endpoint = await SdkEndpoint.start({ services: [ledgerObject, relayService], kind: "h2-bidi" });
  admin = new TestAdminClient(cluster.adminUrl);
  await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), 30_000);
}, WHOLE_TEST_MS);
afterAll(async () => {
  admin[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
  await broker[Symbol.asyncDispose]();
}, 60_000);

async function produce(topic: string, numbers: readonly number[]): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: [broker.brokers], logLevel: kafkajs.logLevel.NOTHING });
  const making = kafka.admin();
  await making.connect();
  await making.createTopics({ topics: [{ topic, numPartitions: TOPIC_PARTITIONS }], waitForLeaders: true });
  await making.disconnect();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  for (let at = 0; at < numbers.length; at += 1_000) {
    const page = numbers.slice(at, at + 1_000);
    await producer.send({ topic, messages: page.map((n) => ({ key: `key ${n % KEYS}`, value: JSON.stringify({ n }) })) });
  }
  await producer.disconnect();
}

interface Status {
  readonly handled_records: number;
  readonly positions?: readonly { readonly partition: number; readonly lag: number }[];
}

test(
  `${RECORDS} records of a topic reach their objects once and in order through the deaths of two workers that read it`,
  async () => {
    const properties = { "bootstrap.servers": broker.brokers, "session.timeout.ms": "6000", "fetch.wait.max.ms": "50" };
    expect((await admin.post("/kafka-clusters", { name: "k1", properties })).status).toBe(201);
    const numbers = Array.from({ length: RECORDS }, (_, n) => n);
    await produce("orders", numbers);
    const made = await admin.post("/subscriptions", {
      source: "kafka://k1/orders",
      sink: "service://Ledger/book",
      options: { "auto.offset.reset": "earliest" },
    });
    expect(made.status).toBe(201);
    const { id } = made.json as { id: string };
    const status = async (): Promise<Status> => (await admin.get(`/subscriptions/${id}/status`)).json as Status;
    const booked = async (): Promise<number> => {
      await delay(POLL_MS);
      const count = "SELECT count(1) AS n FROM sys_invocation WHERE target_handler_name = 'book'";
      return Number((await admin.query(count))[0]?.["n"]);
    };

    for (const [kill, worker] of (cluster.workers as readonly ServiceProgram[]).entries()) {
      const enough = Math.min(RECORDS - 1, (RECORDS / 4) * (kill + 1));
      await eventually("records became invocations", async () => (await booked()) >= enough, 120_000);
      await worker.kill();
      await worker.startAgain();
      await worker.ready();
    }

    await eventually("all records became invocations", async () => (await booked()) === RECORDS, TIMEOUT_MS);
    await eventually(
      "nothing is left in the topic",
      async () => {
        const { positions } = await status();
        return positions?.length === TOPIC_PARTITIONS && positions.every(({ lag }) => lag === 0);
      },
      60_000,
    );
    const unfinished = "SELECT count(1) AS n FROM sys_invocation_status WHERE status != 'completed'";
    await eventually(
      "all of them ended",
      async () => {
        await delay(POLL_MS);
        const left = Number((await admin.query(unfinished))[0]?.["n"]);
        if (left > 0) throw new Error(`${left} are left`);
        return true;
      },
      TIMEOUT_MS,
    );
    const ingress = new TestIngressClient(cluster.ingressUrls[0] as string);
    for (let key = 0; key < KEYS; key++) {
      expect(await ingress.result(["Ledger", `key ${key}`, "numbers"])).toEqual(numbers.filter((n) => n % KEYS === key));
    }
    ingress[Symbol.dispose]();
    expect(await booked()).toBe(RECORDS);
  },
  WHOLE_TEST_MS,
);
