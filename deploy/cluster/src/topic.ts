/** Writes to Kafka: the client's side of a record that becomes an invocation. */
import kafkajs from "kafkajs";

interface Rec {
  readonly key: string;
  readonly value: string;
}

/** Makes the topic when it is not there. */
export async function ensureTopic(brokers: string, topic: string): Promise<void> {
  const admin = clientOf(brokers).admin();
  await admin.connect();
  try {
    await admin.createTopics({ topics: [{ topic, numPartitions: 4 }], waitForLeaders: true });
  } finally {
    await admin.disconnect();
  }
}

export async function writeRecord(brokers: string, topic: string, record: Rec): Promise<void> {
  const producer = clientOf(brokers).producer({
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  try {
    await producer.send({ topic, messages: [record] });
  } finally {
    await producer.disconnect();
  }
}

function clientOf(brokers: string): kafkajs.Kafka {
  return new kafkajs.Kafka({ clientId: "perdure-demo", brokers: [brokers], logLevel: kafkajs.logLevel.NOTHING });
}
