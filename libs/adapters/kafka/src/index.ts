export { createKafkaSource, type KafkaPorts } from "./record-source.js";
