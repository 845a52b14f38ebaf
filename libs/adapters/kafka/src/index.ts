/** Reads records of Kafka topics with librdkafka. */
export { createKafkaSource, type KafkaPorts } from "./record-source.js";
