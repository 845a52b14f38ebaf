/** A broker that wants credentials over an encrypted connection. */
import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { startKafka } from "@perdure/servers";
import { runSubscriptions } from "@perdure/subscription";
import { makeCertificates } from "@perdure/testkit";
import kafkajs from "kafkajs";
import { createKafkaSource } from "../src/index.js";
import { Taken, TestRegistry } from "./world.js";

test("SASL over TLS lets in who has the password and knows the authority, and says why others stay outside", async () => {
  const { trusted } = await makeCertificates();
  const sasl = { mechanism: "SCRAM-SHA-256", username: "perdure", password: "secret" } as const;
  await using broker = await startKafka({ sasl, tls: trusted });
  const kafka = new kafkajs.Kafka({
    brokers: [broker.brokers],
    ssl: { ca: trusted.authority },
    sasl: { ...sasl, mechanism: "scram-sha-256" },
    logLevel: kafkajs.logLevel.NOTHING,
  });
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: "t1" }], waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic: "t1", messages: [{ value: "1" }, { value: "2" }] });
  await producer.disconnect();

  const properties = {
    "bootstrap.servers": broker.brokers,
    "security.protocol": "SASL_SSL",
    "sasl.mechanisms": sasl.mechanism,
    "sasl.username": sasl.username,
    "sasl.password": sasl.password,
    "ssl.ca.pem": trusted.authority,
  };
  const failures: (string | undefined)[] = [];
  for (const change of [{ "sasl.password": "wrong" }, { "ssl.ca.pem": (await makeCertificates()).stranger.authority }, {}]) {
    const registry = new TestRegistry({ ...properties, ...change });
    registry.serve("Svc", "service");
    registry.put({ source: "kafka://k1/t1" });
    const deliveries = new Taken();
    const source = createKafkaSource({ clock: systemClock, logger: silentLogger });
    await using subscriptions = runSubscriptions({ registry, source, deliveries, clock: systemClock, logger: silentLogger });
    const isWelcome = Object.keys(change).length === 0;
    while (isWelcome ? deliveries.taken.length < 2 : subscriptions.statuses()[0]?.state !== "backingOff") {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(deliveries.taken).toHaveLength(isWelcome ? 2 : 0);
    failures.push(subscriptions.statuses()[0]?.lastFailure);
  }
  expect(failures[0]).toMatch(/authentication/i);
  expect(failures[1]).toMatch(/certificate/i);
}, 120_000);
