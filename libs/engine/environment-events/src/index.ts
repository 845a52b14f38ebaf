/** Publishes events about an environment: stuck subscriptions, saturated limits, drained deployments. */
export { createEnvironmentEvents } from "./engine.js";
export { type HeldCondition, heldConditions } from "./held.js";
export type { EnvironmentEventsOptions, EnvironmentEventsPorts } from "./ports.js";
