/** Discovers endpoints and stores deployments, service revisions, Kafka subscriptions and concurrency rules. */
export type { CheckedStore, CheckPorts } from "./check-ports.js";
export { kafkaClustersOf, kafkaClustersSetting, planBoundsOf, planLimitSettings, serviceDefaultsOf } from "./config.js";
export { SERVICE_DEFAULTS, type ServiceDefaults } from "./defaults.js";
export { createDiscoveryFetcher } from "./discovery-fetcher.js";
export { measuredFetcher } from "./metrics.js";
export type { PlanBounds } from "./plan-bounds.js";
export type { CountUsage, DiscoveryAnswer, DiscoveryFetcher, DiscoveryRequest, DiscoveryTarget } from "./ports.js";
export { createRegistry, type RegistryOptions, type RegistryRole } from "./registry.js";
export { createScheduleBook, type ManagedScheduleBook } from "./schedules.js";
export { openSchedules } from "./schedules-open.js";
