/** Publishes events about an environment: stuck subscriptions, saturated limits, drained deployments. */
export { createEnvironmentEvents } from "./engine.js";
export type { EnvironmentEventsOptions, EnvironmentEventsPorts } from "./ports.js";
