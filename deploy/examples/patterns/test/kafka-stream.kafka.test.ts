/** The demo of the pattern that needs Kafka comes true, with a real broker. */
import { expect, test } from "@jest/globals";
import { executable } from "@perdure/dev-cluster";
import { startKafka } from "@perdure/servers";
import { type Check, Stage } from "#kit/stage";
import { kafkaStream } from "#patterns/kafka-stream/demo";

test("kafka-stream: every record is handled once and in order, though the server is killed", async () => {
  await executable(); // Built, and not older than the sources.
  const checks: Check[] = [];
  await using broker = await startKafka();
  await using stage = await Stage.start(
    { said: () => undefined, crashed: () => undefined, checked: (check) => checks.push(check) },
    { kafkaBrokers: broker.brokers },
  );
  await kafkaStream.demo(stage);
  expect(checks.map(({ isTrue }) => isTrue)).toEqual([true, true]);
}, 240_000);
