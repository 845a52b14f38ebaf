/** The broker of a demo that needs Kafka: KAFKA_BROKERS, or one that is started for the demo (Java 17 and Maven). */

export interface Broker extends AsyncDisposable {
  /** Value of `bootstrap.servers`. */
  readonly brokers: string;
}

export async function openBroker(): Promise<Broker> {
  const brokers = process.env["KAFKA_BROKERS"] ?? "";
  if (brokers !== "") return { brokers, [Symbol.asyncDispose]: () => Promise.resolve() };
  const { startKafka } = await import("@perdure/servers");
  return await startKafka();
}
