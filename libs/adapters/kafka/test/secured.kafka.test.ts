/** A broker that requires credentials and an encrypted connection. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { startKafka } from "@perdure/servers";
import { runSubscriptions } from "@perdure/subscriptions";
import { makeCertificates } from "@perdure/testkit";
import kafkajs from "kafkajs";
import { createKafkaSource } from "../src/index.js";
import { RecordedDeliveries, TestRegistry } from "./world.js";

/** Creates the topic `t1` with one record for each value. */
async function produce(kafka: kafkajs.Kafka, ...values: readonly string[]): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: "t1" }], waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic: "t1", messages: values.map((value) => ({ value })) });
  await producer.disconnect();
}

test("SASL over TLS connects with the right password and authority, and other connections fail with the reason", async () => {
  const { trusted } = await makeCertificates();
  const sasl = { mechanism: "SCRAM-SHA-256", username: "perdure", password: "secret" } as const;
  await using broker = await startKafka({ sasl, tls: trusted });
  const kafka = new kafkajs.Kafka({
    brokers: [broker.brokers],
    ssl: { ca: trusted.authority },
    sasl: { ...sasl, mechanism: "scram-sha-256" },
    logLevel: kafkajs.logLevel.NOTHING,
  });
  await produce(kafka, "1", "2");

  const properties = {
    "bootstrap.servers": broker.brokers,
    "security.protocol": "SASL_SSL",
    "sasl.mechanisms": sasl.mechanism,
    "sasl.username": sasl.username,
    "sasl.password": sasl.password,
    "ssl.ca.pem": trusted.authority,
  };
  const failures: (string | undefined)[] = [];
  for (const change of [{ "sasl.password": "wrong" }, { "ssl.ca.pem": (await makeCertificates()).untrusted.authority }, {}]) {
    const registry = new TestRegistry({ ...properties, ...change });
    registry.serve("Svc", "service");
    registry.put({ source: "kafka://k1/t1" });
    const deliveries = new RecordedDeliveries();
    const source = createKafkaSource({ clock: systemClock, logger: silentLogger });
    await using subscriptions = runSubscriptions({ registry, source, deliveries, clock: systemClock, logger: silentLogger });
    const isWelcome = Object.keys(change).length === 0;
    while (isWelcome ? deliveries.accepted.length < 2 : subscriptions.statuses()[0]?.state !== "backingOff") {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(deliveries.accepted).toHaveLength(isWelcome ? 2 : 0);
    failures.push(subscriptions.statuses()[0]?.lastFailure);
  }
  expect(failures[0]).toMatch(/authentication/i);
  expect(failures[1]).toMatch(/certificate/i);
}, 120_000);

/** An unsigned token (RFC 7519 §6), which the broker accepts with its handler for development. */
function unsecuredToken(subject: string): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const nowSeconds = Math.floor(Date.now() / 1000);
  return `${part({ alg: "none" })}.${part({ sub: subject, iat: nowSeconds, exp: nowSeconds + 600 })}.`;
}

test("OAUTHBEARER connects with a token of the endpoint, and other connections fail with the reason", async () => {
  const module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule";
  await using broker = await startKafka({
    config: {
      "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
      "sasl.enabled.mechanisms": "OAUTHBEARER",
      "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
      "listener.name.clients.oauthbearer.sasl.jaas.config": `${module} required unsecuredLoginStringClaim_sub="broker";`,
    },
  });
  const kafka = new kafkajs.Kafka({
    brokers: [broker.brokers],
    sasl: { mechanism: "oauthbearer", oauthBearerProvider: async () => ({ value: unsecuredToken("producer") }) },
    logLevel: kafkajs.logLevel.NOTHING,
  });
  await produce(kafka, "1");

  let token = "not.a.token";
  const endpoint = createServer((_, response) => response.end(JSON.stringify({ access_token: token })));
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  const registry = new TestRegistry({
    "bootstrap.servers": broker.brokers,
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanisms": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/`,
    "sasl.oauthbearer.client.id": "perdure",
    "sasl.oauthbearer.client.secret": "secret",
  });
  registry.serve("Svc", "service");
  registry.put({ source: "kafka://k1/t1" });
  const deliveries = new RecordedDeliveries();
  const source = createKafkaSource({ clock: systemClock, logger: silentLogger });
  await using subscriptions = runSubscriptions({ registry, source, deliveries, clock: systemClock, logger: silentLogger });
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await until(() => subscriptions.statuses()[0]?.state === "backingOff");
  expect(subscriptions.statuses()[0]?.lastFailure).toMatch(/sasl|token|authentication/i);
  token = unsecuredToken("perdure");
  await until(() => deliveries.accepted.length === 1);
  expect(deliveries.inputs()).toEqual(["1"]);
  endpoint.close();
}, 120_000);
