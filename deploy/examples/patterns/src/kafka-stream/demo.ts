/** Hundreds of transactions of a few accounts; the server is killed while it consumes them. */
import kafkajs from "kafkajs";
import type { Pattern } from "#kit/pattern";
import { account } from "#patterns/kafka-stream/services";

const TOPIC = "transactions";
const ACCOUNTS = ["alice", "bob", "carol", "dave"];
const TRANSACTIONS_EACH = 100;

export const kafkaStream: Pattern = {
  name: "kafka-stream",
  summary: "handle the records of a topic, per key in order and once",
  needs: "kafka",
  services: [account],
  demo: async (stage) => {
    const brokers = stage.kafkaBrokers ?? "";
    await produceTransactions(brokers);
    stage.say(`${ACCOUNTS.length * TRANSACTIONS_EACH} records of ${ACCOUNTS.length} accounts are in the topic`);
    await stage.admin("POST", "/kafka-clusters", { name: "main", properties: { "bootstrap.servers": brokers } });
    const options = { "auto.offset.reset": "earliest" };
    await stage.admin("POST", "/subscriptions", { source: `kafka://main/${TOPIC}`, sink: "service://Account/apply", options });
    await stage.until("the first records are handled", async () => (await handledCount()) > 0);
    await stage.crash("server");
    await stage.until("all records are handled", async () => (await handledCount()) >= ACCOUNTS.length * TRANSACTIONS_EACH);

    const inOrder = Array.from({ length: TRANSACTIONS_EACH }, (_, index) => index + 1).join();
    const orders = await Promise.all(ACCOUNTS.map((name) => stage.ingress.objectClient(account, name).handled()));
    const balances = await Promise.all(ACCOUNTS.map((name) => stage.ingress.objectClient(account, name).balance()));
    stage.check(
      "every account handled its records once and in order",
      orders.every((numbers) => numbers.join() === inOrder),
    );
    stage.check(
      "every balance is right",
      balances.every((cents) => cents === TRANSACTIONS_EACH * 10),
    );

    async function handledCount(): Promise<number> {
      const counts = ACCOUNTS.map(async (name) => (await stage.ingress.objectClient(account, name).handled()).length);
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    }
  },
};

async function produceTransactions(brokers: string): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: brokers.split(","), logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 4 }], waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer();
  await producer.connect();
  const messages = Array.from({ length: TRANSACTIONS_EACH }, (_, index) => index + 1).flatMap((sequence) =>
    ACCOUNTS.map((key) => ({ key, value: JSON.stringify({ sequence, cents: 10 }) })),
  );
  await producer.send({ topic: TOPIC, messages });
  await producer.disconnect();
}
