/** Runs the engine inside a test: time that the test moves, faults at chosen steps, journals to compare. */
export type { HandlerLog, ServiceDefinitions } from "./engine/sdk-endpoint.js";
export { type InvocationHandle, type SkipTime, TestEnvironment, type TestEnvironmentOptions } from "./environment.js";
export type { ExploreOptions } from "./explore/explore.js";
export type { ExploreReport, Finding, PointReport } from "./explore/report.js";
export type { Scenario } from "./explore/run-once.js";
export type { CrashOptions, FailOptions, Fault, SlowOptions, StepSelector } from "./faults/faults.js";
export type { Journal, Step } from "./journal/journal.js";
export { type ExpectedStep, matchSteps, stepMatchers } from "./journal/matcher.js";
export type { TestDuration } from "./time/duration.js";
