/** Topics into handlers, with a real broker: every record once, in order, through the deaths of the server. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type KafkaServer, startKafka } from "@perdure/servers";
import kafkajs, { type Kafka } from "kafkajs";
import { eventually, TestWorld } from "../src/index.js";
import { ledgerObject, relayService } from "../src/services/ledger.js";

const WHOLE_TEST_MS = 240_000;
const RECORDS = 20_000;
const KEYS = 40;
const QUIET_MS = 180_000;

let broker: KafkaServer;
let kafka: Kafka;
let world: TestWorld;
beforeAll(async () => {
  broker = await startKafka();
  kafka = new kafkajs.Kafka({ brokers: [broker.brokers], logLevel: kafkajs.logLevel.NOTHING });
  world = await TestWorld.start();
  await world.deploy({ services: [ledgerObject, relayService] });
  const made = await world.admin.post("/kafka-clusters", {
    name: "k1",
    properties: { "bootstrap.servers": broker.brokers, "session.timeout.ms": "6000", "fetch.wait.max.ms": "50" },
  });
  expect(made.status).toBe(201);
}, WHOLE_TEST_MS);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await broker[Symbol.asyncDispose]();
});

interface Message {
  readonly key?: string | Buffer;
  readonly value: string;
  readonly partition?: number;
}

async function aTopic(topic: string, numPartitions: number): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions }], waitForLeaders: true });
  await admin.disconnect();
}

async function produce(topic: string, messages: readonly Message[]): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  for (let at = 0; at < messages.length; at += 1_000) {
    const page = messages.slice(at, at + 1_000).map(({ key = null, ...message }) => ({ key, ...message }));
    await producer.send({ topic, messages: page });
  }
  await producer.disconnect();
}

async function subscribe(topic: string, sink: string): Promise<string> {
  const answer = await world.admin.post("/subscriptions", {
    source: `kafka://k1/${topic}`,
    sink: `service://${sink}`,
    options: { "auto.offset.reset": "earliest" },
  });
  expect(answer.status).toBe(201);
  return (answer.json as { id: string }).id;
}

/** Whether every invocation of a service has ended. */
const quiet = (service: string) =>
  eventually(
    `nothing is left to do for ${service}`,
    async () => {
      const of = `target_service_name = '${service}' AND status != 'completed'`;
      const [row] = await world.admin.query(`SELECT count(1) AS n FROM sys_invocation_status WHERE ${of}`);
      return row?.["n"] === 0;
    },
    QUIET_MS,
  );
const status = async (id: string) => (await world.admin.get(`/subscriptions/${id}/status`)).json as Record<string, unknown>;
const ledgerNumbers = (key: string) => world.ingress.result<number[]>(["Ledger", key, "numbers"]);

describe("a topic", () => {
  test(
    `of ${RECORDS} records reaches its objects once and in order, though the server is killed twice`,
    async () => {
      await aTopic("orders", 4);
      const numbers = Array.from({ length: RECORDS }, (_, n) => n);
      await produce(
        "orders",
        numbers.map((n) => ({ key: `key ${n % KEYS}`, value: JSON.stringify({ n }) })),
      );
      const id = await subscribe("orders", "Ledger/book");
      for (let kill = 0; kill < 2; kill++) {
        await eventually("records were handled", async () => Number((await status(id))["handled_records"]) > 500);
        await world.server.kill();
        await world.server.startAgain();
      }
      await eventually(
        "all is read",
        async () => {
          const { positions } = (await status(id)) as { positions?: { next_offset: number; lag: number }[] };
          return positions?.length === 4 && positions.every(({ lag }) => lag === 0);
        },
        120_000,
      );
      await quiet("Ledger");
      for (let key = 0; key < KEYS; key++) {
        expect(await ledgerNumbers(`key ${key}`)).toEqual(numbers.filter((n) => n % KEYS === key));
      }
      const [row] = await world.admin.query(
        "SELECT invoked_by, invoked_by_subscription_id, count(1) AS n FROM sys_invocation WHERE target_handler_name = 'book' GROUP BY 1, 2",
      );
      expect(row).toEqual({ invoked_by: "subscription", invoked_by_subscription_id: id, n: RECORDS });
    },
    WHOLE_TEST_MS,
  );

  test(
    "without keys runs a plain service for each record",
    async () => {
      await aTopic("plain", 2);
      await produce(
        "plain",
        Array.from({ length: 300 }, (_, n) => ({ value: JSON.stringify({ n }), partition: n % 2 })),
      );
      await subscribe("plain", "Relay/take");
      await eventually("all are here", async () => {
        const [row] = await world.admin.query(
          "SELECT count(1) AS n FROM sys_invocation_status WHERE target_service_name = 'Relay'",
        );
        return row?.["n"] === 300;
      });
      await quiet("Relay");
      await quiet("Ledger");
      const all = [...(await ledgerNumbers("relay 0")), ...(await ledgerNumbers("relay 1"))];
      expect(all.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, n) => n));
    },
    WHOLE_TEST_MS,
  );

  test(
    "that holds what no handler can take shows where it is stuck, and continues when that is left out",
    async () => {
      await aTopic("poisoned", 1);
      const poison = { key: Buffer.from([0xc3, 0x28]), value: "{}" };
      await produce("poisoned", [{ key: "p", value: '{"n":1}' }, poison, { key: "p", value: '{"n":2}' }]);
      const id = await subscribe("poisoned", "Ledger/book");
      await eventually("it is stuck", async () => (await status(id))["stuck_at"] !== null);
      expect(await status(id)).toMatchObject({ stuck_at: { partition: 0, offset: 1, reason: "the record's key is not UTF-8" } });
      expect(await ledgerNumbers("p")).toEqual([1]);
      expect((await world.admin.post(`/subscriptions/${id}/skip`, { partition: 0, offset: 1 })).status).toBe(200);
      await eventually("the record is handled", async () => (await ledgerNumbers("p")).length === 2);
      expect(await status(id)).toMatchObject({ skipped: [{ partition: 0, offset: 1 }] });
    },
    WHOLE_TEST_MS,
  );

  test(
    "is left alone while its subscription is paused, also by a server that starts again",
    async () => {
      await aTopic("paused", 1);
      const id = await subscribe("paused", "Ledger/book");
      await produce("paused", [{ key: "q", value: '{"n":1}' }]);
      await eventually("the record is handled", async () => (await ledgerNumbers("q")).length === 1);
      expect((await world.admin.post(`/subscriptions/${id}/pause`, {})).json).toMatchObject({ paused: true, state: "paused" });
      await produce("paused", [{ key: "q", value: '{"n":2}' }]);
      await world.server.kill();
      await world.server.startAgain();
      await delay(500);
      expect(await ledgerNumbers("q")).toEqual([1]);
      expect((await world.admin.post(`/subscriptions/${id}/resume`, {})).json).toMatchObject({ paused: false });
      await eventually("the record is handled", async () => (await ledgerNumbers("q")).length === 2);
    },
    WHOLE_TEST_MS,
  );
});
