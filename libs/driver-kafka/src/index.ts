export { type ClientSettings, clientSettings } from "./properties.js";
export { createKafkaSource, type KafkaPorts } from "./record-source.js";
